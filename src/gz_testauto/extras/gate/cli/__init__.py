"""Verbs of the gate."""
