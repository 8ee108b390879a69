"""Geometric queries about flat and solid colliders: intersections, distances, rays, half spaces and
camera views."""
