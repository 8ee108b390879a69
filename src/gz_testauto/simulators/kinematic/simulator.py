"""Loads one world after the other; there is no process behind it."""

from gz_testauto.base.errors import SdfError, SimulatorError
from gz_testauto.simulators.interface import Scene, Simulator
from gz_testauto.simulators.kinematic.simulation import KinematicSimulation


class KinematicSimulator(Simulator):
    """An ideal robot: it moves as it is told, at once and without slip, and follows the ground.

    ``step_s`` is the step that plays the part of the physics step, whatever the world says. Nothing
    has a mass: what the robot meets stops it, and nothing else moves.
    """

    name = "kinematic"
    version = "1"
    repeatable = True
    sets_twist = False
    inertial = "step"

    def __init__(self, step_s: float = 0.001) -> None:
        """Raises ``ValueError`` for a step that is out of bounds."""
        if not 0.0 < step_s <= 0.02:
            raise ValueError("step_s must be above 0 and at most 0.02")
        self._step_s = step_s

    def _load(self, scene: Scene) -> KinematicSimulation:
        try:
            return KinematicSimulation(scene, self._step_s)
        except SdfError as error:
            raise SimulatorError(f"cannot load {scene.world}: {error}") from error

    def _close(self) -> None:
        """There is nothing to let go of."""
