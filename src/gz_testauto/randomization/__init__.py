"""Domain randomization of a trial: physical properties of the world, and faults of robots.

Each term has a random generator, which depends on the name of the term, the world and the
repetition.
"""

from gz_testauto.base.registry import Registry

TERMS = Registry("term", {})
"""Randomization terms of other packages. The built-in terms are in
:mod:`gz_testauto.spec.randomize`."""

PREFIX = "drawn_"

__all__ = ["PREFIX", "TERMS"]
