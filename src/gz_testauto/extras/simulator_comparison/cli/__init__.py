"""Verbs ``simulators`` and ``agreement``."""
