"""The simulator ``embedded``: MuJoCo in this process, for machines without Gazebo and for many
trials."""

from gz_testauto.simulators.embedded.simulator import EmbeddedSimulator

__all__ = ["EmbeddedSimulator"]
