"""An ideal robot without mass, the reference for simulators with dynamics."""

from gz_testauto.simulators.kinematic.simulator import KinematicSimulation, KinematicSimulator

__all__ = ["KinematicSimulation", "KinematicSimulator"]
