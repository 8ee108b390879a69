"""Checks of a simulator's physics against exact values."""
