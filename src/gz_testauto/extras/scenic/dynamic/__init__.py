"""Scenic scenarios that act during a trial."""
