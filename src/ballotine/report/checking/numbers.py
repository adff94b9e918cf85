"""Comparing the numbers of a card or a receipt with its ledger, as of its anchor."""

from __future__ import annotations

import json
import re

from ballotine.errors import CardMismatchError
from ballotine.ledger import Mode, Spending
from ballotine.privacy.guarantee import NEIGHBOURING, Kind
from ballotine.report.checking.comparisons import not_less, not_more, same, same_word
from ballotine.report.checking.ledger_at_anchor import LedgerAtAnchor
from ballotine.report.checking.statement import Statement
from ballotine.text import printable
from ballotine.voting.promise import stated

OLD = "the card (version 0.1) does not count repeated rows, so its counts were not checked"
_SCOPE = re.compile(r"([\d,]{1,20}) queries, ([\d,]{1,20}) of them answered", re.ASCII)
_ASKED, _ANSWERED = "queries in the ledger", "answered queries in the ledger"
_PUBLISHED = ("failure", "confidence", "order")  # version 0.1 wrote a confidence


def compare_guarantee(statement: Statement, spending: Spending) -> None:
    """Compare ε, δ, budget, kind, mode, mechanism, groups, query counts and seeding."""
    epsilon, kind, _, _ = stated(spending)
    terms, ceiling, part = spending.terms, spending.terms.loosest, "guarantee"
    stated_relation = statement.text(part, "neighbouring")
    same_word(statement, "neighbouring", stated_relation, NEIGHBOURING)
    same_word(statement, "mode", statement.optional(part, "mode"), terms.mode.value)
    same(statement, "δ", statement.number(part, "delta"), ceiling.delta)
    for name, true in (("epsilon", ceiling.epsilon), ("delta", ceiling.delta)):
        same(statement, f"a budget's {name}", statement.number(part, "budget", name), true)
    not_less(statement, "ε", statement.number(part, "epsilon"), epsilon)
    stated_kind = statement.text(part, "kind")
    # The ledger cannot know whether a guarantee rests on doubtful assumptions.
    if (stated_kind, kind) != (Kind.CONDITIONAL.value, Kind.DATA_INDEPENDENT):
        same_word(statement, "kind", stated_kind, kind.value)
    for asked, answered in _SCOPE.findall(statement.text(part, "scope")):
        same(statement, _ASKED, _whole(asked), spending.recorded)
        same(statement, _ANSWERED, _whole(answered), spending.answered)
    _compare_mechanism(statement, spending)
    _compare_seeds(statement, spending)
    grouped = len(spending.accounts) > 1 and terms.mode is not Mode.PAPER
    groups = statement.parts(part, "groups")
    if groups or grouped:
        _compare_groups(statement, groups, spending)


def _compare_mechanism(statement: Statement, spending: Spending) -> None:
    """Require a mechanism that the ledger has charged; version 0.1 did not record it."""
    mechanism = json.dumps(statement.optional("mechanism"), sort_keys=True)
    rules = [binding.rule for binding in spending.bindings.values()]
    if all(rules) and not any(rule.startswith(mechanism) for rule in rules):
        raise CardMismatchError(
            f"the {statement.name} names a mechanism or parameters that the ledger has never "
            "charged: do not rely on it"
        )


def _compare_seeds(statement: Statement, spending: Spending) -> None:
    """Require seeded noise in the ledger to be stated; a card may state a seed without noise."""
    flags = [statement.optional("guarantee", "seeded")]
    flags += [] if statement.is_receipt else [statement.optional("run", "seeded")]
    if spending.seeded and not all(flag is True for flag in flags):
        raise CardMismatchError(
            f"the {statement.name} does not say that noise came from a seed, but the ledger has "
            "answers with seeded noise: do not rely on it"
        )


def compare_card(card: Statement, replay: LedgerAtAnchor) -> tuple[str, ...]:
    """Compare what only a card states: the meter, its history, the runs, its own queries.

    Returns:
        What could not be checked.
    """
    spending = replay.spending
    not_less(card, "charged ε", card.number("accounted_epsilon"), spending.epsilon())
    same(card, "runs in the ledger", card.count("ledger", "runs"), replay.runs)
    for point in card.parts("history")[-1:]:
        same(card, _ASKED, point.count("asked"), spending.recorded)
        same(card, _ANSWERED, point.count("answered"), spending.answered)
        not_less(card, "charged ε", point.number("epsilon"), spending.epsilon())
    for key in _PUBLISHED:
        if card.optional("published", key) is not None:
            true = (spending.statement or {}).get(key, 0.0)
            same(card, f"published {key}", card.number("published", key), float(true))
    if groups := card.parts("individual", "groups"):
        _compare_groups(card, groups, spending)
    return _compare_queries(card, spending)


def is_old(card: Statement, spending: Spending) -> bool:
    """Whether a card is of version 0.1, which did not count repeated rows.

    The ledgers of that version did not record rules, so removing a count from a later card does
    not make it pass for an old one.
    """
    rules = [binding.rule for binding in spending.bindings.values()]
    return card.optional("queries", "repeated") is None and not (rules and all(rules))


def _compare_queries(card: Statement, spending: Spending) -> tuple[str, ...]:
    """Require the counts of one run to fit into those of the ledger, and to add up."""
    if is_old(card, spending):
        return (OLD,)
    asked, answered = card.count("queries", "asked"), card.count("queries", "answered")
    not_more(card, "asked", asked, spending.recorded)
    not_more(card, "answered", answered, spending.answered)
    if asked == spending.recorded:
        same(card, "answered", answered, spending.answered)
    rest, total = asked - answered, "the sum of the other counts"
    same(card, "abstained", card.count("queries", "abstained"), rest, total)
    others = card.count("queries", "repeated") + card.count("queries", "unasked")
    same(card, "public rows", card.count("queries", "pool"), asked + others, total)
    return ()


def _compare_groups(statement: Statement, groups: list[Statement], spending: Spending) -> None:
    """Compare the guarantee of each group, and what it was charged."""
    if sorted(group.text("name") for group in groups) != sorted(spending.accounts):
        raise CardMismatchError(
            f"the {statement.name} names other groups than the ledger: do not rely on it"
        )
    for group in groups:
        name = group.text("name")
        account, shown = spending.accounts[name], f"for group {printable(name)} "
        same(statement, f"{shown}a budget's ε", group.number("budget"), account.budget.epsilon)
        if group.optional("epsilon") is not None:
            true = spending.guaranteed()[name]
            not_less(statement, f"{shown}ε", group.number("epsilon"), true)
        if group.optional("charged") is not None:
            true = account.epsilon()
            not_less(statement, f"{shown}charged ε", group.number("charged"), true)


def _whole(text: str) -> int:
    return int(text.replace(",", "") or 0)
