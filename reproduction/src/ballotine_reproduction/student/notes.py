"""Notes that stand below more than one table."""

from __future__ import annotations

RELATION = (
    "DP-SGD's ε is for one record replaced, as PATE's is: steps are accounted with both gradients "
    "in the worst place, not with Opacus' accountant, whose neighbour has one record more or "
    "fewer. ε, add or remove: what that would say about the same training"
)
EXPERIMENT = (
    "an experiment: noise is seeded, and {chosen} on one more seed (another split of the same "
    "rows) with labels that nobody has in a real run; that is not accounted"
)
STRICT = "strict: the number of queries that true data-independent costs allow; may be released"
EXACT = (
    "exact: the number that exact two-sided costs of these votes would have allowed. It depends "
    "on private votes: a real run would have to fix it beforehand and sanitise its ε"
)
