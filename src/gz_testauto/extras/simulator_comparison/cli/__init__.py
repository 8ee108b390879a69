"""Verbs ``simulators`` and ``agree``."""
