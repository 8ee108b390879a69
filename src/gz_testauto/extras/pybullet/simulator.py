"""Loads scenes one after the other into Bullet, in this process.

The client, the robots that were read and the logged warnings are kept for later scenes. The world
is emptied before every scene, so a scene does not affect later ones.
"""

from typing import Dict

from gz_testauto.base.errors import SdfError, SimulatorError
from gz_testauto.extras.pybullet.client import open_client
from gz_testauto.extras.pybullet.simulation import PyBulletSimulation
from gz_testauto.sdf.engine_model.coverage import SdfCoverage
from gz_testauto.sdf.engine_model.robots import EngineRobot, read_engine_robot
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.simulators.interface import Scene, Simulator


class PyBulletSimulator(Simulator):
    """Bullet, in this process; it starts no process and opens no port.

    ``step_s`` is the physics step, independent of the world.
    """

    name = "pybullet"
    repeatable = True
    sets_twist = True
    several_robots = True
    inertial = "step"
    changes = PyBulletSimulation.changes

    def __init__(self, step_s: float = 0.001) -> None:
        """Open a client; raises ``MissingDependencyError``."""
        if not 0.0 < step_s <= 0.02:
            raise ValueError("step_s must be above 0 and at most 0.02")
        self._client, self.version = open_client()
        self._step_s = step_s
        self._coverage = SdfCoverage(self.name)
        self._robots: Dict[RobotModel, EngineRobot] = {}

    def _load(self, scene: Scene) -> PyBulletSimulation:
        try:
            robots = [self._engine_robot(placed.robot) for placed in scene.robots]
            return PyBulletSimulation(self._client, scene, robots, self._step_s, self._coverage)
        except SdfError as error:
            raise SimulatorError(f"cannot load {scene.world}: {error}") from error

    def _close(self) -> None:
        self._robots.clear()
        self._client.disconnect()

    def _engine_robot(self, robot: RobotModel) -> EngineRobot:
        if robot not in self._robots:
            self._robots[robot] = read_engine_robot(robot, self._coverage)
        return self._robots[robot]
