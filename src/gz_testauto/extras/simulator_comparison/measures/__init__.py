"""Measures that compare simulators. The import of this package registers those that it defines."""

from gz_testauto.extras.simulator_comparison.measures import behavior, inertial, load

__all__ = ["behavior", "inertial", "load"]
