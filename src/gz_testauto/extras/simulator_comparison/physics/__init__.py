"""Checks of a simulator's physics against exact values, one idea per module."""
