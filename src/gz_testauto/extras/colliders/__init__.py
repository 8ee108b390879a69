"""Geometric queries about flat and solid colliders: intersections, distances, rays, planes and
camera views."""
