"""Comparison of simulators with recordings and with each other."""
