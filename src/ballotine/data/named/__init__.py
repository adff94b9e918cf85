"""Named public data sets: their descriptions, where they come from, and their arrays."""
