"""Learned planners: what they are shown, what their answers mean, and the files they are in."""
