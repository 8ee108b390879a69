"""Geometric queries about flat and solid colliders, rays, half spaces and camera views."""
