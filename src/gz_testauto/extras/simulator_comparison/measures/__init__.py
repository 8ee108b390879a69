"""Measures, each a registered plug-in. The import of this package registers those defined here."""

from gz_testauto.extras.simulator_comparison.measures import behavior, inertial, load

__all__ = ["behavior", "inertial", "load"]
