"""The verbs ``train`` and ``record``."""
