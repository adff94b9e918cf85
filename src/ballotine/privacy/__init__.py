"""Privacy accounting: events, their Rényi costs, conversion to (ε, δ), budgets and guarantees."""
