"""The simulator ``embedded``: MuJoCo in the Python process. It needs no Gazebo and is fast enough
for large numbers of trials."""

from gz_testauto.simulators.embedded.simulator import EmbeddedSimulator

__all__ = ["EmbeddedSimulator"]
