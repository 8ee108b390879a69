"""MuJoCo behind the simulator interface: for machines without Gazebo, and for many trials."""

from gz_testauto.simulators.embedded.simulator import EmbeddedSimulator

__all__ = ["EmbeddedSimulator"]
