"""An ideal robot on the ground of the world: what simulators with masses are held against."""

from gz_testauto.simulators.kinematic.simulator import KinematicSimulator

__all__ = ["KinematicSimulator"]
