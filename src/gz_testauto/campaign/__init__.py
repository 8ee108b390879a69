"""All trials of a campaign: generation of worlds, start, resumption and stop."""
