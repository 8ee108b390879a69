"""Learned planners: observations and actions of policies, and policy files."""
