"""Simulators behind one interface: Gazebo, gazebo_ros, MuJoCo, an ideal robot, and plug-ins."""

import inspect
from typing import Any, Mapping

from gz_testauto.base.errors import MissingDependencyError
from gz_testauto.base.parameters import check_parameters, construct, parameters_of
from gz_testauto.base.registry import Registry
from gz_testauto.simulators.interface import Scene, Simulation, Simulator

SIMULATORS = Registry(
    "simulator",
    {
        "gazebo": "gz_testauto.simulators.gazebo:GazeboSimulator",
        "gazebo_ros": "gz_testauto.simulators.gazebo_ros:GazeboRosSimulator",
        "embedded": "gz_testauto.simulators.embedded:EmbeddedSimulator",
        "kinematic": "gz_testauto.simulators.kinematic:KinematicSimulator",
    },
)

AUTOMATIC = "auto"
"""A name of a simulator: ``gazebo`` if Gazebo is installed, otherwise ``embedded``."""

__all__ = [
    "AUTOMATIC",
    "SIMULATORS",
    "Scene",
    "Simulation",
    "Simulator",
    "check_options",
    "chosen_simulator",
    "open_simulator",
    "options_taken",
]


def chosen_simulator(name: str) -> str:
    """Return ``name``, or for ``auto`` the name of the simulator that it selects."""
    if name != AUTOMATIC:
        return name
    from gz_testauto.simulators.gazebo.installation import find_gazebo

    try:
        find_gazebo()
    except MissingDependencyError:
        return "embedded"
    return "gazebo"


def open_simulator(name: str, **options: Any) -> Simulator:
    """Start the simulator registered as ``name``, which can be ``auto``.

    Raises the errors of :func:`~gz_testauto.base.parameters.construct`.
    """
    simulator: Simulator = construct(SIMULATORS, chosen_simulator(name), options)
    return simulator


def check_options(name: str, options: Mapping[str, Any]) -> None:
    """Raise ``SpecError`` for an unknown option or an invalid value. No simulator is started."""
    check_parameters(SIMULATORS, chosen_simulator(name), options)


def options_taken(name: str) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a simulator's constructor, by name."""
    return parameters_of(SIMULATORS.get(chosen_simulator(name)))
