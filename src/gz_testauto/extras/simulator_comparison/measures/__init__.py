"""Measures, each a registered plug-in: ``gz_testauto.measures``."""
