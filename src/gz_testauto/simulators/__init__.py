"""Simulators behind one interface: real Gazebo, anybody's gazebo_ros,
MuJoCo, and whatever a plugin adds."""

from typing import Any

from gz_testauto.base.errors import MissingDependencyError, SpecError
from gz_testauto.base.registry import Registry
from gz_testauto.simulators.interface import Scene, Simulation, Simulator

SIMULATORS = Registry(
    "simulator",
    {
        "gazebo": "gz_testauto.simulators.gazebo:GazeboSimulator",
        "gazebo_ros": "gz_testauto.simulators.gazebo_ros:GazeboRosSimulator",
        "embedded": "gz_testauto.simulators.embedded:EmbeddedSimulator",
        "pybullet": "gz_testauto.simulators.pybullet:PyBulletSimulator",
        "kinematic": "gz_testauto.simulators.kinematic:KinematicSimulator",
    },
)

AUTOMATIC = "auto"
"""In place of a simulator's name: Gazebo where there is one, otherwise ``embedded``."""

__all__ = [
    "AUTOMATIC",
    "SIMULATORS",
    "Scene",
    "Simulation",
    "Simulator",
    "chosen_simulator",
    "open_simulator",
]


def chosen_simulator(name: str) -> str:
    """The name itself, or what ``auto`` means on this machine."""
    if name != AUTOMATIC:
        return name
    from gz_testauto.simulators.gazebo.installation import find_gazebo

    try:
        find_gazebo()
    except MissingDependencyError:
        return "embedded"
    return "gazebo"


def open_simulator(name: str, **options: Any) -> Simulator:
    """Start the simulator registered as ``name``, or the one that ``auto`` means; ``options`` go
    to its constructor. Raises ``SpecError`` for an option that it refuses."""
    simulator = SIMULATORS.get(chosen_simulator(name))
    try:
        return simulator(**options)
    except ValueError as error:
        raise SpecError(f"simulator {name!r}: simulator_options: {error}") from error
