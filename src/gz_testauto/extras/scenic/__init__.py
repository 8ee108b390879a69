"""Scenic programs as a source of worlds."""
