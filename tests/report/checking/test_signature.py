"""Only a fingerprint from another channel proves who signed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature

from ballotine.errors import CardMismatchError
from ballotine.signing import fingerprint_of, new_key
from tests.report.checking.conftest import KINDS, Case

MakeCase = Callable[[str], Case]


def key_of(case: Case) -> str:
    return fingerprint_of(case.statement.with_name("holder.pub").read_bytes())


@pytest.mark.parametrize("kind", KINDS)
def test_the_holders_signature_holds(make_case: MakeCase, kind: str) -> None:
    case = make_case(kind)
    found = case.check(key_of(case))
    assert any(key_of(case) in line for line in found.held)
    assert found.warnings == ()


@pytest.mark.parametrize("kind", ["run", "vote"])
def test_without_a_fingerprint_nobody_knows_who_signed(make_case: MakeCase, kind: str) -> None:
    (doubt,) = make_case(kind).check().warnings
    assert "proves nothing about who signed" in doubt


@pytest.mark.parametrize("kind", ["run", "vote"])
def test_a_change_after_signing_is_refused(make_case: MakeCase, kind: str) -> None:
    case = make_case(kind)
    case.statement.write_bytes(case.statement.read_bytes() + b" ")
    for key in (None, key_of(case)):
        with pytest.raises(CardMismatchError, match="does not match"):
            case.check(key)


def test_somebody_elses_signature_is_refused(make_case: MakeCase) -> None:
    """Whoever rewrites a card can also sign it, with another key."""
    case = make_case("run")
    trusted = key_of(case)
    forger = new_key()  # in this test's own folder
    content = case.content | {"signed_by": forger.fingerprint}
    case.statement.write_text(json.dumps(content))
    forger.sign(case.statement)
    case.check()  # with a warning, which is why it is one
    with pytest.raises(CardMismatchError, match=f"another key .* {forger.fingerprint}"):
        case.check(trusted)


def test_a_card_that_names_another_signer_is_refused(make_case: MakeCase) -> None:
    case = make_case("run")
    forger = new_key()
    forger.sign(case.statement)
    with pytest.raises(CardMismatchError, match="names another key"):
        case.check()


def test_a_signature_that_was_taken_away_is_missed(make_case: MakeCase) -> None:
    case = make_case("run")
    case.statement.with_name("card.json.sig").unlink()
    for key in (None, key_of(case)):
        with pytest.raises(CardMismatchError, match="should be signed"):
            case.check(key)


def test_an_unsigned_card_is_told(make_case: MakeCase) -> None:
    case = make_case("run")
    case.change(lambda _: None)
    (doubt,) = case.check().warnings
    assert "not signed" in doubt
    with pytest.raises(CardMismatchError, match="should be signed"):
        case.check(key_of(case))


@pytest.mark.parametrize("claimed", [1, [], {}, "nobody", True])
def test_odd_claims_of_a_signer(make_case: MakeCase, claimed: object) -> None:
    case = make_case("run")
    case.statement.write_text(json.dumps(case.content | {"signed_by": claimed}))
    case.statement.with_name("card.json.sig").unlink()
    with pytest.raises(CardMismatchError):
        case.check()


def test_the_documented_snippet_checks_a_card(
    make_case: MakeCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Python code of docs/ledger.md, run next to a real card."""
    page = (Path(__file__).parents[3] / "docs" / "ledger.md").read_text(encoding="utf-8")
    (code,) = [
        text
        for text in re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
        if "verify(" in text
    ]
    case = make_case("run")
    monkeypatch.chdir(case.statement.parent)
    names: dict[str, object] = {}
    exec(compile(code, "docs/ledger.md", "exec"), names)
    assert names["fingerprint"] == key_of(case).replace(":", "")
    case.statement.write_bytes(case.statement.read_bytes() + b" ")
    with pytest.raises(InvalidSignature):
        exec(compile(code, "docs/ledger.md", "exec"), {})
