"""Real processes are killed while they spend privacy; a judge looks at what they leave behind."""
