"""Domain randomization of a trial: physical properties of the world, and faults of robots.

Each term draws from a separate random generator, which depends on the name of the term, the world
and the repetition. The results of a trial contain the drawn values in the columns ``drawn_<name>``.
"""

from gz_testauto.base.registry import Registry

TERMS = Registry("term", {})
"""Registered randomization terms of other packages. The built-in terms are defined in
:mod:`gz_testauto.spec.randomize`."""

__all__ = ["TERMS"]
