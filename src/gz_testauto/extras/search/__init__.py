"""Search for worlds in which planners fail, boundaries of failures, and small worlds with a failure."""
