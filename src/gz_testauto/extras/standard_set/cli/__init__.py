"""The verbs ``benchmark`` and ``verify``."""
