"""Trials on the user's own simulator, robot and navigation stack, started by launch files."""
