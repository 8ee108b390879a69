"""Domain randomization of a trial: properties of the world, faults of robots.

Each term draws from a separate generator, addressed by its name, the world and the repetition. The
drawn values are in the trial's results, as ``drawn_<name>``.
"""

from gz_testauto.base.registry import Registry

TERMS = Registry("term", {})
"""Terms of other packages; the built-in terms are in :mod:`gz_testauto.spec.randomize`."""

__all__ = ["TERMS"]
