"""The simulator ``embedded``: MuJoCo in the Python process, for large numbers of trials."""

from gz_testauto.simulators.embedded.simulator import EmbeddedSimulator

__all__ = ["EmbeddedSimulator"]
