"""``ballotine vote``: answer saved votes through a ledger."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ballotine.cli import options
from ballotine.cli.console import RichProgress, console, warn
from ballotine.cli.key import ask_passphrase, signed_with
from ballotine.cli.votes import VoteOptions
from ballotine.errors import ParameterError

if TYPE_CHECKING:
    from ballotine.ledger import Anchor
    from ballotine.privacy.guarantee import Guarantee
    from ballotine.signing import Signer
    from ballotine.voting import Answers, Mechanism, Rules
    from ballotine.voting.saved import SavedVotes

HELP = """Answer saved ballots or tallies through the ledger of their data set.

Every answer is charged before its noise is drawn; asking the same file again returns the stored
answers and costs nothing. Modes: `strict` stops on the data-independent cost. `fixed` asks
`--queries` queries, a number chosen beforehand, and then publishes a smaller ε with separate
noise (without `--epsilon`). `paper` stops on the data-dependent cost, as papers do; its answers
may not be released.

Next to `--out` a receipt is written: the guarantee, the counts, the checksum of the answers and
the state of the ledger, signed if you have a key (`ballotine key new`). `ballotine ledger verify
LEDGER --card RECEIPT` compares it with the ledger. Keep it: it detects a ledger that was replaced
by an older copy.

Example: `ballotine vote VOTES.npy -m gnmax --sigma 40 --classes 10 --epsilon 2 --delta 1e-5
--ledger L.sqlite --out answers.npz`
"""


@options.with_fields_of(VoteOptions)
def vote(
    votes: VoteOptions,
    epsilon: Annotated[
        float | None, typer.Option(help="ε of the budget (not in fixed mode).")
    ] = None,
    mode: Annotated[str, typer.Option(help="strict, fixed or paper.")] = "strict",
    ledger: Annotated[
        Path | None, typer.Option(help="The data set's ledger; created on first use.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the answers here (.npz).")] = None,
    receipt: Annotated[
        Path | None,
        typer.Option(help="Write the receipt here (.json); by default next to --out."),
    ] = None,
    bounds: options.Bounds = "published",
    conversion: options.Conversion = "classic",
) -> None:
    """Answer saved votes through a ledger."""
    from ballotine.noise import source
    from ballotine.voting.saved import vote as answer

    files = _Files.settle(out, receipt)  # before anything is spent
    rules, saved = _rules(votes, epsilon, mode, bounds, conversion)
    groups = b"" if votes.weights is None else votes.weights.read_bytes()
    with RichProgress() as progress, progress.stage("answers", saved.number) as advance:
        answers, guarantee, anchor = answer(
            saved, rules, ledger, source(votes.seed), advance, groups=groups
        )
    head = None if ledger is None else anchor
    files.write(answers, guarantee, rules.mechanism, head)
    if ledger is None:
        warn("without --ledger this spending is not recorded; use a ledger for real votes")
    if votes.as_json:
        typer.echo(json.dumps(_facts(answers, guarantee, head), indent=2))
    else:
        _show(answers, guarantee, head)
        files.show()


@dataclass(frozen=True)
class _Files:
    """The files of answers and receipt, and the signer."""

    answers: Path | None
    receipt: Path | None
    signer: Signer | None

    @classmethod
    def settle(cls, out: Path | None, receipt: Path | None) -> _Files:
        from ballotine.files import require_writable
        from ballotine.report.receipt import receipt_beside
        from ballotine.signing import load_signer, signature_of

        for path, suffix, what in ((out, ".npz", "answers"), (receipt, ".json", "receipts")):
            if path is not None and path.suffix != suffix:
                raise ParameterError(f"the file of {what} must end in {suffix}, got {path.name!r}")
            if path is not None and not path.parent.is_dir():
                raise ParameterError(f"the folder {path.parent} for {what} does not exist")
        place = receipt or (None if out is None else receipt_beside(out))
        for path in (out, place, None if place is None else signature_of(place)):
            if path is not None:
                require_writable(path)
        signer = None if place is None else load_signer(ask_passphrase)
        if place is not None and signer is not None:
            signer.require_place(place.parent)
        return cls(out, place, signer)

    def write(
        self, answers: Answers, guarantee: Guarantee, mechanism: Mechanism, anchor: Anchor | None
    ) -> None:
        from ballotine.report.receipt import build_receipt, write_receipt

        if self.answers is not None:
            _write(self.answers, answers, guarantee)
        if self.receipt is not None:
            content = build_receipt(answers, guarantee, mechanism, anchor, self.answers)
            write_receipt(self.receipt, content, self.signer)

    def show(self) -> None:
        if self.receipt is not None:
            fingerprint = None if self.signer is None else self.signer.fingerprint
            text = f"receipt: {self.receipt}; signed: {signed_with(fingerprint)}"
            console.print(text, markup=False, soft_wrap=True)


def _rules(
    votes: VoteOptions, epsilon: float | None, mode: str, bounds: str, conversion: str
) -> tuple[Rules, SavedVotes]:
    from ballotine.ledger import Mode
    from ballotine.voting import Rules

    if mode not in set(Mode):
        raise ParameterError(f"unknown mode {mode!r}; choose {', '.join(Mode)}")
    if mode == Mode.FIXED and votes.queries is None:
        raise ParameterError("fixed mode needs --queries, chosen before looking at votes")
    if mode != Mode.FIXED and epsilon is None and votes.group_budgets is None:
        raise ParameterError(
            f"{mode} mode needs a budget: give --epsilon, or --group-budgets with --weights"
        )
    mechanism = votes.make_mechanism()
    if votes.classes is None and not votes.tallies and not mechanism.task.several:
        raise ParameterError(
            "the number of classes must be public knowledge and may not be read from the votes: "
            "give it with --classes (or use --tallies, if the file holds counts)"
        )
    saved = votes.open(mechanism)
    rules = Rules(
        votes.plan(mechanism, saved, math.inf if epsilon is None else epsilon),
        saved.classes,
        Mode(mode),
        votes.queries if mode == Mode.FIXED else None,
        bounds,  # type: ignore[arg-type]
        conversion,  # type: ignore[arg-type]
    )
    return rules, saved


def _facts(answers: Answers, guarantee: Guarantee, anchor: Anchor | None) -> dict[str, Any]:
    from ballotine.report.receipt import anchor_to

    return {
        **guarantee.to_dict(),
        "queries": int(answers.asked.sum()),
        "answered": int(answers.answered.sum()),
        "pool": len(answers),
        "ledger": None if anchor is None else anchor_to(anchor),
    }


def _show(answers: Answers, guarantee: Guarantee, anchor: Anchor | None) -> None:
    console.print(
        f"{int(answers.asked.sum())} of {len(answers)} queries asked, "
        f"{int(answers.answered.sum())} answered",
        markup=False,
    )
    console.print(str(guarantee), markup=False, soft_wrap=True)
    if anchor is not None:
        text = f"ledger: entry {anchor.seq} of {anchor.ledger}, hash {anchor.hash}"
        console.print(text, markup=False, soft_wrap=True)


def _write(path: Path, answers: Answers, guarantee: Guarantee) -> None:
    """Write the answers (−1 abstained, −2 not asked) and their guarantee."""
    import numpy as np

    from ballotine.files import produce_atomic

    text = json.dumps(guarantee.to_dict(), ensure_ascii=False)
    produce_atomic(
        path,
        lambda stream: np.savez(stream, answers=answers.labels, guarantee=np.array(text)),
    )
