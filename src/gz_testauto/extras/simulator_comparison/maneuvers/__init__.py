"""Maneuvers, the same in every simulator: velocity commands and starting poses."""
