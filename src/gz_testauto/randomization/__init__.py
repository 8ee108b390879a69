"""What is drawn of a trial beside its obstacles: properties of the world, faults of robots.

A term draws from a generator of its own, addressed by its name, the world and the repetition. What
it drew stands in the trial's results, as ``drawn_<name>``.
"""

from gz_testauto.base.registry import Registry

TERMS = Registry("term", {})
"""Terms of other packages; this one's are known to :mod:`gz_testauto.spec.randomize`."""

__all__ = ["TERMS"]
