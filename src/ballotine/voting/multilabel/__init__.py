"""Several labels per answer: multi-label ballots, and the mechanisms that answer from them."""
