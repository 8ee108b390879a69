"""Conformance suites and fakes, for everyone who writes an adaptor or a planner."""
