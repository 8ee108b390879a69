"""Compute statistics of campaigns: rates with intervals, and comparisons of planners by world."""
