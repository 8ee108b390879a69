"""Worlds, missions and moving agents from Scenic programs."""
