"""MuJoCo as a simulator in this process.

To add or remove models, a simulation recompiles its world and copies the state of the others.
"""

import copy
import os
import threading
from typing import (
    Any,
    Dict,
    Iterable,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
    get_args,
)

import mujoco
from typing_extensions import Literal

from gz_testauto.base.errors import MissingDependencyError, SimulatorError
from gz_testauto.base.observation import ModelState
from gz_testauto.sdf.engine_model.bodies import EngineModel
from gz_testauto.sdf.engine_model.coverage import SdfCoverage
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.simulators.changes import Change, ChangeKind, SetFriction, SetModel
from gz_testauto.simulators.embedded.engine import Engine, mujoco_link_states
from gz_testauto.simulators.embedded.mjcf import write_mjcf
from gz_testauto.simulators.embedded.robot import DrivenRobot, MujocoRobot, drive_robot
from gz_testauto.simulators.embedded.wheel_drive import Skid
from gz_testauto.simulators.engine_simulation import (
    EngineSimulation,
    EngineSimulator,
    noise_generators,
)
from gz_testauto.simulators.interface import Scene

# longest wall time to wait until the window is closed
CLOSES_S = 10.0


class Settings(NamedTuple):
    """The physics step (s), and the use of the compiled lidar and of Coulomb's law for sliding."""

    step_s: float
    fast_lidar: bool
    grip: bool


def require_display() -> None:
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise MissingDependencyError(
            "MuJoCo's viewer needs a display, but DISPLAY and WAYLAND_DISPLAY are not set; over "
            "ssh, use ssh -X"
        )


class MujocoViewer:
    """The window of one simulator, which opens with the first state.

    If the user closes it, it stays closed. It shows copies, so that its input changes no trial.
    """

    def __init__(self) -> None:
        self._window: Any = None
        self._engine_in_window: Any = None
        self._model: Any = None
        self._data: Any = None
        self._threads: Set[threading.Thread] = set()

    def show(self, engine: Engine) -> None:
        """Show the state of an engine. A recompiled engine gets a new window."""
        if self._window is not None and not self._window.is_running():
            return
        if engine is not self._engine_in_window:
            self.close()
            self._open(engine)
        with self._window.lock():
            mujoco.mj_copyData(self._data, self._model, engine.data)
        self._window.sync()

    def _open(self, engine: Engine) -> None:
        import glfw  # opens libraries of the window system
        from mujoco import viewer

        if not glfw.init():  # MuJoCo would end the process
            raise MissingDependencyError(
                "MuJoCo's viewer cannot open the display "
                f"{os.environ.get('DISPLAY') or os.environ.get('WAYLAND_DISPLAY')!r}"
            )
        self._engine_in_window, self._model = engine, copy.copy(engine.model)
        self._data = mujoco.MjData(self._model)
        mujoco.mj_copyData(self._data, self._model, engine.data)
        previous_threads = set(threading.enumerate())
        self._window = viewer.launch_passive(
            self._model, self._data, show_left_ui=False, show_right_ui=False
        )
        self._threads = set(threading.enumerate()) - previous_threads

    def close(self) -> None:
        """Close the window. Idempotent."""
        if self._window is not None:
            self._window.close()
            self._window = None
            for thread in self._threads:  # a thread that runs at the exit crashes the process
                thread.join(CLOSES_S)


class EmbeddedSimulation(EngineSimulation[MujocoRobot]):
    _engine: Engine

    def __init__(
        self,
        scene: Scene,
        robots: Sequence[DrivenRobot],
        settings: Settings,
        coverage: SdfCoverage,
        viewer: Optional[MujocoViewer] = None,
    ) -> None:
        engine_robots = [driven_robot.engine_robot for driven_robot in robots]
        super().__init__(scene, engine_robots, settings.step_s, coverage)
        self._settings = settings
        self._viewer = viewer
        self._gravity = self._world.gravity_mps2
        self._lasting_changes: Dict[Tuple[ChangeKind, str], Change] = {}
        self._placeable = {model.name for model in scene.models}  # actors, among others
        self._onboard = {
            driven_robot.engine_robot.robot.name: MujocoRobot(
                driven_robot, settings.step_s, noise, settings.fast_lidar
            )
            for driven_robot, noise in zip(robots, noise_generators(scene))
        }
        self._engine = self._compile(self._models)
        self._attach_robots()
        self._begin()
        self._show()

    def _step(self, count: int) -> None:
        super()._step(count)
        self._show()

    def _show(self) -> None:
        if self._viewer is not None:
            self._viewer.show(self._engine)

    def _link_states(self) -> Mapping[str, ModelState]:
        return mujoco_link_states(self._engine, self._present_models.values())

    def _add(self, models: Dict[str, EngineModel]) -> None:
        self._recompile({**self._models, **models})

    def _remove(self, names: Sequence[str]) -> None:
        self._recompile({name: model for name, model in self._models.items() if name not in names})

    def _set_states(self, states: Mapping[str, ModelState]) -> None:
        self._make_placeable(states)
        super()._set_states(states)

    def _apply(self, changes: Sequence[Change]) -> None:
        self._make_placeable([change.name for change in changes if type(change) is SetModel])
        super()._apply(changes)

    def _make_placeable(self, names: Iterable[str]) -> None:
        """Recompile static models that are part of the world as bodies, which can be moved."""
        fixed_names = {
            name for name in names if name not in self._placeable and self._models[name].static
        }
        if fixed_names:
            self._placeable |= fixed_names
            self._recompile(self._models)

    def _update(self) -> None:
        self._engine.refresh()

    def _set_property(self, change: Change) -> None:
        """Set a property now and after each recompilation."""
        super()._set_property(change)
        self._lasting_changes[type(change), change.name] = change

    def _check_change(self, change: Change) -> None:
        super()._check_change(change)
        if not isinstance(change, SetFriction):
            return
        drives = [robot.equipment.drive for robot in self._onboard.values()]
        rolling = {wheel.link for drive in drives if drive.servos for wheel in drive.wheels}
        if change.name.rpartition("::")[0] in rolling:
            raise SimulatorError(
                f"SetFriction: {change.name!r} is part of a wheel whose friction has no effect, "
                "because 'embedded' moves the base of this robot as commanded; "
                "set the simulator option skid: wheels, or use Gazebo"
            )

    def _compile(self, models: Mapping[str, EngineModel]) -> Engine:
        engine_models = tuple(models.values())
        blueprint = write_mjcf(
            engine_models,
            self._coverage,
            self._settings.step_s,
            self._gravity,
            {name: robot.equipment for name, robot in self._onboard.items()},
            self._settings.grip,
            self._placeable,
        )
        return Engine(blueprint, engine_models)

    def _recompile(self, models: Mapping[str, EngineModel]) -> None:
        engine = self._compile(models)
        engine.copy_state(self._engine)
        self._engine = engine
        for key, change in list(self._lasting_changes.items()):
            if "::" in change.name and change.name.split("::")[0] not in models:
                del self._lasting_changes[key]
            else:
                self._set_property(change)
        self._attach_robots()

    def _attach_robots(self) -> None:
        imu_count = 0
        for robot in self._onboard.values():
            robot.attach(self._engine, imu_count)
            imu_count += robot.equipment.imu is not None


class EmbeddedSimulator(EngineSimulator[DrivenRobot]):
    """The simulator MuJoCo in this process. It starts no process and opens no port.

    ``step_s`` is the physics step, independent of the world: for a robot on wheels, 5 ms is as
    accurate as 1 ms. If ``fast_lidar`` is False, MuJoCo casts all rays, with identical ranges.
    ``skid`` selects the method to turn a robot with more than two driven wheels: ``servo`` turns
    the robot as commanded. ``wheels`` uses motors and friction, and the result depends on
    ``step_s``. ``lidar`` selects the shapes that all sensors with rays see: ``visuals`` are those
    that a ``gpu_ray`` sees in Gazebo. ``gui`` opens MuJoCo's viewer, which needs a display.
    """

    name = "embedded"
    loads_beside = True
    contacts_without_forces = True

    def __init__(
        self,
        step_s: float = 0.005,
        fast_lidar: bool = True,
        skid: Skid = "servo",
        lidar: Literal["collisions", "visuals"] = "collisions",
        gui: bool = False,
    ) -> None:
        """Raise ``ValueError`` for an invalid option, and ``MissingDependencyError`` for a window
        without a display."""
        super().__init__(step_s)
        if skid not in get_args(Skid):
            raise ValueError(f"'skid' must be one of {', '.join(get_args(Skid))}, not {skid!r}")
        if lidar not in ("collisions", "visuals"):
            raise ValueError(f"'lidar' must be 'collisions' or 'visuals', not {lidar!r}")
        self._coverage = SdfCoverage(self.name, lidar == "visuals", ("collide_without_contact",))
        self.version = f"MuJoCo {mujoco.__version__}"
        self._settings = Settings(step_s, fast_lidar, grip=skid == "wheels")
        self._skid: Skid = skid
        if gui:
            require_display()
        self._viewer = MujocoViewer() if gui else None

    def _read_robot(self, robot: RobotModel) -> DrivenRobot:
        return drive_robot(robot, self._coverage, self._skid)

    def _simulation(self, scene: Scene, robots: Sequence[DrivenRobot]) -> EmbeddedSimulation:
        return EmbeddedSimulation(scene, robots, self._settings, self._coverage, self._viewer)

    def _close(self) -> None:
        if self._viewer is not None:
            self._viewer.close()
        super()._close()
