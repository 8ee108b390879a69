"""Compute metrics, which are numbers derived from the recording of a trial."""
