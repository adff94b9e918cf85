"""Several labels per answer: k-hot ballots, and the mechanisms that answer from them."""
