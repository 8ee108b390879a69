"""Occupancy grids and shortest paths on them."""
