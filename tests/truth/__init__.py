"""A record's truth: what each record did pay over all runs, against what was printed."""
