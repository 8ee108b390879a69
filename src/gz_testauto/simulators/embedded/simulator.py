"""Loads scenes one after the other into MuJoCo, in this process.

The robots that were read and the logged warnings are kept for later scenes. Every scene is compiled
separately, so a scene does not affect later ones.
"""

from typing import Dict, get_args

from gz_testauto.base.errors import MissingDependencyError, SdfError, SimulatorError
from gz_testauto.sdf.engine_model.coverage import SdfCoverage
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.simulators.embedded.robot import DrivenRobot, drive_robot
from gz_testauto.simulators.embedded.simulation import EmbeddedSimulation, Settings
from gz_testauto.simulators.embedded.wheel_drive import Skid
from gz_testauto.simulators.interface import Scene, Simulator


class EmbeddedSimulator(Simulator):
    """MuJoCo, in this process; it starts no process and opens no port.

    ``step_s`` is the physics step, independent of the world: for a robot on wheels 5 ms are as good
    as 1 ms. If ``fast_lidar`` is False, MuJoCo casts all rays, with the same readings. ``skid``
    selects how a robot with more than two driven wheels turns: ``servo`` turns it as commanded,
    ``wheels`` uses motors and friction, whose result depends on ``step_s``.
    """

    name = "embedded"
    repeatable = True
    sets_twist = True
    several_robots = True
    inertial = "step"
    changes = EmbeddedSimulation.changes

    def __init__(
        self, step_s: float = 0.005, fast_lidar: bool = True, skid: Skid = "servo"
    ) -> None:
        """Load MuJoCo; raises ``MissingDependencyError``."""
        if not 0.0 < step_s <= 0.02:
            raise ValueError("step_s must be above 0 and at most 0.02")
        if skid not in get_args(Skid):
            raise ValueError(f"skid must be one of {', '.join(get_args(Skid))}, not {skid!r}")
        try:
            import mujoco
        except ImportError as error:
            raise MissingDependencyError(
                f"the simulator 'embedded' needs MuJoCo: python3 -m pip install mujoco ({error})"
            ) from error
        self.version = f"MuJoCo {mujoco.__version__}"
        self._settings = Settings(step_s, fast_lidar, grip=skid == "wheels")
        self._skid: Skid = skid
        self._coverage = SdfCoverage(self.name)
        self._robots: Dict[RobotModel, DrivenRobot] = {}

    def _load(self, scene: Scene) -> EmbeddedSimulation:
        try:
            robots = [self._driven(placed.robot) for placed in scene.robots]
            return EmbeddedSimulation(scene, robots, self._settings, self._coverage)
        except SdfError as error:
            raise SimulatorError(f"cannot load {scene.world}: {error}") from error

    def _close(self) -> None:
        self._robots.clear()

    def _driven(self, robot: RobotModel) -> DrivenRobot:
        if robot not in self._robots:
            self._robots[robot] = drive_robot(robot, self._coverage, self._skid)
        return self._robots[robot]
