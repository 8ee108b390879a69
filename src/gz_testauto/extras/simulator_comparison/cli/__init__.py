"""Command-line verbs ``simulators`` and ``agreement``."""
