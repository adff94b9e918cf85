"""Named public data sets: what is known of them, where they come from, and their arrays."""
