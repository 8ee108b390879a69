"""Bullet as a simulator in this process. The client is reused for later scenes."""

from typing import Any, Dict, Mapping, Sequence

from gz_testauto.base.observation import ModelState
from gz_testauto.extras.pybullet.client import open_client
from gz_testauto.extras.pybullet.multibody import bullet_link_states
from gz_testauto.extras.pybullet.simulated_robot import BulletRobot
from gz_testauto.extras.pybullet.world import BulletWorld
from gz_testauto.sdf.engine_model.bodies import EngineModel
from gz_testauto.sdf.engine_model.coverage import SdfCoverage
from gz_testauto.sdf.engine_model.robots import EngineRobot, read_engine_robot
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.simulators.engine_simulation import (
    EngineSimulation,
    EngineSimulator,
    noise_generators,
)
from gz_testauto.simulators.interface import Scene


class PyBulletSimulation(EngineSimulation[BulletRobot]):
    _engine: BulletWorld

    def __init__(
        self,
        client: Any,
        scene: Scene,
        robots: Sequence[EngineRobot],
        step_s: float,
        coverage: SdfCoverage,
    ) -> None:
        super().__init__(scene, robots, step_s, coverage)
        names = frozenset(engine_robot.robot.name for engine_robot in robots)
        gravity_mps2 = self._world.gravity_mps2
        self._engine = BulletWorld(client, step_s, gravity_mps2, coverage, names)
        self._engine.add(self._models.values())
        self._onboard = {
            engine_robot.robot.name: BulletRobot(engine_robot, self._engine, noise)
            for engine_robot, noise in zip(robots, noise_generators(scene))
        }
        self._begin()

    def _link_states(self) -> Mapping[str, ModelState]:
        models = [(model, self._engine.models[name]) for name, model in self._models.items()]
        return bullet_link_states(self._engine.client, models)

    def _add(self, models: Dict[str, EngineModel]) -> None:
        self._engine.add(models.values())

    def _remove(self, names: Sequence[str]) -> None:
        self._engine.remove(names)


class PyBulletSimulator(EngineSimulator[EngineRobot]):
    """The simulator Bullet in this process. It starts no process and opens no port.

    ``step_s`` is the physics step, independent of the world.
    """

    name = "pybullet"

    def __init__(self, step_s: float = 0.001) -> None:
        """Raise ``MissingDependencyError`` if PyBullet is not installed."""
        super().__init__(step_s)
        self._client, self.version = open_client()

    def _close(self) -> None:
        super()._close()
        self._client.disconnect()

    def _read_robot(self, robot: RobotModel) -> EngineRobot:
        return read_engine_robot(robot, self._coverage)

    def _simulation(self, scene: Scene, robots: Sequence[EngineRobot]) -> PyBulletSimulation:
        return PyBulletSimulation(self._client, scene, robots, self._step_s, self._coverage)
