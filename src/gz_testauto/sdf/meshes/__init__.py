"""Surfaces given as triangles: their files, their slices, and what lies inside."""
