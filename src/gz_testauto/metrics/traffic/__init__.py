"""Metrics of trials with moving objects and on lanes."""
