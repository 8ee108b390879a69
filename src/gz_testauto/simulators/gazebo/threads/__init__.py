"""Threads of gzserver: what they do, and on which processors."""
