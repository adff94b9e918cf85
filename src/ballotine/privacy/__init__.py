"""Privacy in numbers: costs, conversions, guarantees, and the ledger that keeps them."""
