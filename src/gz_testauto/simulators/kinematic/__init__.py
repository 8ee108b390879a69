"""An ideal robot on the ground of the world: the reference for simulators with masses."""

from gz_testauto.simulators.kinematic.simulator import KinematicSimulation, KinematicSimulator

__all__ = ["KinematicSimulation", "KinematicSimulator"]
