"""Learned planners: the observations and actions of policies, and policy files."""
