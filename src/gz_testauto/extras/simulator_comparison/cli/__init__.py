"""Verbs ``simulators``, ``agreement`` and ``screen``."""
