"""Occupancy grids, and shortest paths on grids and among polygons."""
