"""Geometric queries: flat and solid colliders, rays, planes, views."""
