"""Searches for failures of planners, boundaries of failures, and small worlds with a failure."""
