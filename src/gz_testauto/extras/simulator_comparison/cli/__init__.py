"""The verbs ``simulators`` and ``agree``."""
