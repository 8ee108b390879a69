"""Actors and other hooks, which move models and change the world during a trial."""
