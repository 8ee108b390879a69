"""Run all trials of a campaign: generate its worlds, and start, resume and stop it."""
