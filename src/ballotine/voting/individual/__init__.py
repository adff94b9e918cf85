"""Individual budgets: three schemes that give groups of records their own ε.

`Upsampling` gives some records to several teachers, `Weighting` gives some teachers' votes more
weight, and `Vanishing` lets some teachers vote more often. All of them stop when the first
group's budget ends. They work with mechanisms for one class (GNMax, Confident-GNMax) and for
several labels (Binary, Clipped and Powerset voting).
"""

from ballotine.voting.individual.bias import NOTE, budget_class_association
from ballotine.voting.individual.exhaustion import Exhaustion, GroupEnd
from ballotine.voting.individual.history import PrivateEpsilons, group_costs, history
from ballotine.voting.individual.levels import (
    LEVELS,
    NO_PRIVACY,
    budget_of,
    budgets_of_levels,
    group_numbers,
)
from ballotine.voting.individual.plan import GroupPlan, Plan
from ballotine.voting.individual.scheme import Scheme
from ballotine.voting.individual.setting import require_priced
from ballotine.voting.individual.tiers import smallest_budgets
from ballotine.voting.individual.upsampling import Upsampling
from ballotine.voting.individual.vanishing import Vanishing
from ballotine.voting.individual.weighting import Weighting

SCHEMES: dict[str, type[Scheme]] = {kind.name: kind for kind in (Upsampling, Weighting, Vanishing)}
"""Schemes by their name in run files and on the command line."""

__all__ = [
    "LEVELS",
    "NOTE",
    "NO_PRIVACY",
    "SCHEMES",
    "Exhaustion",
    "GroupEnd",
    "GroupPlan",
    "Plan",
    "PrivateEpsilons",
    "Scheme",
    "Upsampling",
    "Vanishing",
    "Weighting",
    "budget_class_association",
    "budget_of",
    "budgets_of_levels",
    "group_costs",
    "group_numbers",
    "history",
    "require_priced",
    "smallest_budgets",
]
