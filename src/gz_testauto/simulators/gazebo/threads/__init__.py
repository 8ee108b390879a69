"""Threads of gzserver: their states and the processors that they use."""
