"""The commands ``train`` and ``record``."""
