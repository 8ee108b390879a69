"""Domain randomization of a trial: physical properties of the world, and faults of robots.

Each term draws from a separate random generator, which depends on the name of the term, the world
and the repetition. The results of a trial contain the drawn values as ``drawn_<name>``.
"""

from gz_testauto.base.registry import Registry

TERMS = Registry("term", {})
"""Terms of other packages; the built-in terms are in :mod:`gz_testauto.spec.randomize`."""

__all__ = ["TERMS"]
