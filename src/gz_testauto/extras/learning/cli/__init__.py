"""The command ``train``."""
