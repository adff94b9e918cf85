"""Options about votes that commands share: the mechanism, the file and its groups."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ballotine.cli import options
from ballotine.errors import ParameterError

if TYPE_CHECKING:
    from ballotine.voting import Mechanism
    from ballotine.voting.individual import Plan
    from ballotine.voting.saved import SavedVotes


@dataclass(frozen=True)
class VoteOptions:
    """Options about votes.

    Attributes:
        parameters: the parameters of the mechanism; None if absent.
    """

    votes: Annotated[Path, typer.Argument(help="File of ballots (or tallies).")]
    delta: options.Delta
    parameters: dict[str, Any]
    mechanism: options.MechanismName = "confident-gnmax"
    queries: options.Queries = None
    classes: options.Classes = None
    tallies: options.IsTallies = False
    ballots: options.IsBallots = False
    labels: options.Labels = None
    label_threshold: options.LabelThreshold = None
    weights: options.GroupsFile = None
    group_budgets: options.GroupBudgets = None
    individual: options.Individual = "weighting"
    seed: options.Seed = None
    as_json: options.AsJson = False

    def make_mechanism(self) -> Mechanism:
        """Return the mechanism with its parameters."""
        from ballotine.voting import make_mechanism

        return make_mechanism(self.mechanism, self.parameters)

    def open(self, mechanism: Mechanism) -> SavedVotes:
        """Open the file of votes without reading the votes."""
        from ballotine.data.ballots import open_votes
        from ballotine.voting.saved import SavedVotes

        return SavedVotes.of(
            open_votes(self.votes, self.labels),
            mechanism,
            self.classes,
            tallies=self.tallies,
            queries=self.queries,
            thresholds=self.label_threshold,
            ballots=self.ballots,
        )

    def plan(self, mechanism: Mechanism, votes: SavedVotes, epsilon: float = math.inf) -> Plan:
        """Return the plan of teachers and budgets, for everyone or by group.

        Args:
            mechanism: the mechanism that answers.
            votes: the file.
            epsilon: the budget for everyone, if there is one.
        """
        from ballotine.voting import Plan
        from ballotine.voting.individual.saved import (
            group_names,
            parse_budgets,
            plan_saved,
            read_groups,
        )

        if (self.weights is None) != (self.group_budgets is None):
            raise ParameterError("give --weights and --group-budgets together, or neither")
        if self.weights is None or self.group_budgets is None:
            return Plan.standard_of(mechanism, votes.teachers, self.delta, epsilon)
        if math.isfinite(epsilon):
            raise ParameterError("give one ε for everyone or one per group, not both")
        rows = read_groups(self.weights)
        budgets = parse_budgets(self.group_budgets, group_names(rows))
        return plan_saved(
            rows, budgets, votes.teachers, mechanism, votes.classes, self.delta, self.individual
        )
