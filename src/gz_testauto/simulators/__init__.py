"""Simulators behind one interface: real Gazebo, MuJoCo, and whatever a plugin adds."""

from typing import Any

from gz_testauto.registry import Registry
from gz_testauto.simulators.interface import Scene, Simulation, Simulator

SIMULATORS = Registry(
    "simulator",
    {
        "gazebo": "gz_testauto.simulators.gazebo:GazeboSimulator",
        "embedded": "gz_testauto.simulators.embedded:EmbeddedSimulator",
    },
)

__all__ = ["SIMULATORS", "Scene", "Simulation", "Simulator", "open_simulator"]


def open_simulator(name: str, **options: Any) -> Simulator:
    """Start the simulator registered as ``name``; ``options`` go to its constructor."""
    return SIMULATORS.get(name)(**options)
