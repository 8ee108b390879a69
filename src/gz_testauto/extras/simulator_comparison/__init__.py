"""Comparison of simulators with recordings and with each other, with scores, a ranking and its
uncertainty."""
