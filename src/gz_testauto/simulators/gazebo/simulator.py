"""The simulator ``gazebo``, which loads scenes on a gzserver that it starts.

A server is reused if the base of the new world is equal and no error occurred. Between trials,
every part that can have changed is reset, in the same order as on a new server.
"""

import re
from dataclasses import replace
from typing import List, Optional, Sequence, Tuple

from typing_extensions import Literal, get_args

from gz_testauto.base import resources
from gz_testauto.base.errors import SceneRejectedError, SimulatorError
from gz_testauto.base.pose import Pose
from gz_testauto.base.scratch import ScratchDirectory
from gz_testauto.base.xml_file import parse_xml
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.simulators.gazebo.adapted_robot import adapt_robot
from gz_testauto.simulators.gazebo.engines import NOT_REUSABLE, UNSUPPORTED_CHANGES, check_engine
from gz_testauto.simulators.gazebo.installation import GazeboInstallation, find_gazebo
from gz_testauto.simulators.gazebo.instruments import SUFFIX, instrument_model, instrument_robot
from gz_testauto.simulators.gazebo.lockstep import (
    RESTING_RATE_HZ,
    LockStep,
    initialize_sensor_periods,
)
from gz_testauto.simulators.gazebo.robot import DriveCommand, require_drive
from gz_testauto.simulators.gazebo.server import SCRATCH_PREFIX, GuiClient, ServerProcess
from gz_testauto.simulators.gazebo.simulation import GazeboSimulation, standalone_model
from gz_testauto.simulators.gazebo.split_world import SplitWorld, split_world
from gz_testauto.simulators.gazebo.world import WorldLink
from gz_testauto.simulators.interface import Scene, Simulator

HeightMaps = Literal["fields", "meshes"]


class GazeboSimulator(Simulator):
    """A gzserver that this object starts and owns, on loopback only.

    ``gui`` opens gzclient. ``trials_per_server`` limits the number of scenes per server.
    ``stall_timeout_s`` is the wall time without progress after which the server counts as dead.
    ``period_s`` is the longest simulated time between two measurements of contacts and IMU. A step
    is divided into intervals that are not longer. ``obstacle_names`` is a regular expression for
    the whole names of the random obstacles, by default those of the spawner; other static models
    belong to the base of the world, which all trials on a server share. With
    ``world_plugins``, the ``<plugin>`` elements of the worlds are loaded; the plugins of the robot
    are always loaded. ``allow_missing`` contains names of plugins (``libname.so``, in which ``*``
    matches any text). If such a plugin is not installed, the scene is simulated without it.
    ``engine`` is the physics engine, one of ``ode``, ``bullet`` and ``dart``, by default that of
    the world. ``height_maps`` selects how static height maps are represented for ODE: as
    ``"fields"``, into whose edges wheels can sink, or as ``"meshes"`` with the same heights.
    """

    name = "gazebo"
    sets_twist = False
    several_robots = True
    contacts_without_forces = True
    senses = True
    runs_plugins = True
    inertial = "period"
    changes = GazeboSimulation.changes

    def __init__(
        self,
        gui: bool = False,
        trials_per_server: int = 25,
        stall_timeout_s: float = 30.0,
        period_s: float = 0.1,
        obstacle_names: Optional[str] = None,
        world_plugins: bool = True,
        allow_missing: Sequence[str] = (),
        engine: Optional[str] = None,
        height_maps: HeightMaps = "fields",
    ) -> None:
        """Raise ``MissingDependencyError`` without Gazebo. The first scene starts the server."""
        if engine is not None:
            check_engine(engine)
        if height_maps not in get_args(HeightMaps):
            raise ValueError(
                f"'height_maps' must be one of {', '.join(get_args(HeightMaps))}, not "
                f"{height_maps!r}"
            )
        if height_maps == "meshes" and engine not in (None, "ode"):
            raise ValueError(
                f"'height_maps' is 'meshes', which requires the engine 'ode', not {engine!r}"
            )
        if trials_per_server < 1 or period_s <= 0 or stall_timeout_s <= 0:
            raise ValueError("trials_per_server, period_s and stall_timeout_s must be positive")
        self._installation: GazeboInstallation = find_gazebo()
        self._engine = engine
        self._meshes = ScratchDirectory(SCRATCH_PREFIX) if height_maps == "meshes" else None
        self.changes = GazeboSimulation.changes - UNSUPPORTED_CHANGES[engine or "ode"]
        self.version = self._installation.version + (f" with {engine}" if engine else "")
        self._gui = gui
        self._trials_per_server = trials_per_server
        self._stall_timeout_s = stall_timeout_s
        self._period_ns = round(period_s * 1e9)
        self._world_plugins = world_plugins
        self._allow_missing = tuple(allow_missing)
        self._obstacles = None if obstacle_names is None else re.compile(obstacle_names)
        self._server: Optional[ServerProcess] = None
        self._link: Optional[WorldLink] = None
        self._clock: Optional[LockStep] = None
        self._client: Optional[GuiClient] = None
        self._base: Optional[str] = None
        self._last_simulation: Optional[GazeboSimulation] = None
        self._loaded_names: List[str] = []
        self._trial_count = 0

    @property
    def processes(self) -> Tuple[int, ...]:
        """The process id of the current gzserver. Empty before the first scene is loaded."""
        return () if self._server is None else (self._server.pid,)

    def turn_limit_radps(self, robot: RobotModel) -> float:
        """Return the largest yaw rate; Gazebo's drive plugins would wrap a higher rate around."""
        return DriveCommand(robot).limit_radps

    def _load(self, scene: Scene) -> GazeboSimulation:
        for placed_robot in scene.robots:
            require_drive(placed_robot.robot)
        self._take_server()
        split = split_world(
            scene.world,
            RESTING_RATE_HZ,
            self._obstacles,
            plugins=self._world_plugins,
            engine=self._engine,
            meshes=None if self._meshes is None else self._meshes.path,
            cone=any(adapt_robot(placed_robot.robot).needs_cone for placed_robot in scene.robots),
        )
        used_names = {*split.poses, *(model.name for model in split.movables)}
        for model in scene.models:
            if model.name in used_names:
                raise SimulatorError(f"{scene.world} has a model {model.name!r} already")
        split = replace(split, movables=(*split.movables, *map(standalone_model, scene.models)))
        try:
            self._last_simulation = self._load_split(split, scene)
        except BaseException:
            self._stop()
            raise
        self._trial_count += 1
        return self._last_simulation

    def _close(self) -> None:
        self._last_simulation = None
        self._stop()
        if self._meshes is not None:
            self._meshes.remove()

    def _load_split(self, split: SplitWorld, scene: Scene) -> GazeboSimulation:
        if self._can_reuse(split):
            try:
                return self._spawn_scene(split, scene)
            except SceneRejectedError:
                raise
            except SimulatorError:  # the server has failed before it simulated anything
                self._stop()
        self._start(split, scene.seed)
        return self._spawn_scene(split, scene)

    def _can_reuse(self, split: SplitWorld) -> bool:
        return (
            self._server is not None
            and self._server.alive
            and split.reusable
            and split.engine not in NOT_REUSABLE
            and self._base == split.fingerprint
            and self._trial_count < self._trials_per_server
        )

    def _take_server(self) -> None:
        """Keep the server of the last simulation if it can be used again; otherwise stop it."""
        simulation, self._last_simulation = self._last_simulation, None
        if simulation is not None:
            self._loaded_names = simulation.spawned
            if simulation.server_is_sound:
                simulation.cancel_probes()
            else:
                self._stop()

    def _start(self, split: SplitWorld, seed: int) -> None:
        self._stop()
        self._server = ServerProcess(
            self._installation, split.base, seed, model_path=resources.model_path()
        )
        self._link = WorldLink(self._server, self._stall_timeout_s)
        self._base = split.fingerprint
        self._loaded_names = initialize_sensor_periods(self._link, self._new_clock(split))
        if self._gui:
            self._client = GuiClient(self._installation, self._server.port)

    def _spawn_scene(self, split: SplitWorld, scene: Scene) -> GazeboSimulation:
        assert self._link is not None and self._server is not None
        link, mark = self._link, self._server.log_size()
        # different names, so that old and new models can coexist
        suffix = SUFFIX if self._trial_count % 2 == 1 else ""
        clock = self._new_clock(split)
        period_ns = clock.sensor_period_ns
        engine = split.engine
        models = [instrument_model(model, period_ns, suffix, engine) for model in split.movables]
        to_spawn = [model.model for model in models]
        robots, places = [], []
        for placed_robot in scene.robots:
            robot = instrument_robot(
                placed_robot.robot,
                placed_robot.start,
                period_ns,
                suffix,
                engine,
                placed_robot.simulated,
            )
            robots.append(robot)
            # The drive plugins measure the upright bounding box of a wheel when they are loaded,
            # so the robot is spawned with its heading along x and rotated afterwards.
            body = robot.body.model
            to_spawn.append(replace(body, pose=Pose(body.pose.position)))
            places.append((body.name, body.pose))
            models.append(robot.body)
        link.release()
        link.request_deletion(self._loaded_names)
        self._loaded_names = [model.name for model in to_spawn]
        if engine == "bullet":  # the order of its bodies depends on the existing models
            link.await_deletion()
        clock.rewind()
        driven_robots = {
            robot.robot.name: (
                robot,
                link.advertise_to(robot.body.model.name, "vel_cmd", "Pose"),
            )
            for robot in robots
        }
        if to_spawn:
            link.spawn(to_spawn, places, sum(robot.ray_count for robot in robots))
        link.await_deletion()
        simulation = GazeboSimulation(link, clock, scene, split, models, driven_robots, suffix)
        simulation.begin(scene.seed)
        complaint = self._server.fatal_error_since(
            mark if self._trial_count else 0, self._allow_missing
        )
        if complaint is not None:
            names_in_robots = [
                plugin.get("filename", "")
                for placed in scene.robots
                for plugin in parse_xml(placed.robot.sdf.encode()).iter("plugin")
            ]
            remedy = ""
            if not any(name and name in complaint for name in names_in_robots):
                remedy = "; option --no-plugins for all plugins of the worlds"
            raise SceneRejectedError(
                f"gzserver could not load the scene: {complaint}. Add the folder of the "
                "plugin or file to GAZEBO_PLUGIN_PATH or GAZEBO_MODEL_PATH, or run without it (key "
                f"worlds.allow_missing{remedy})"
            )
        return simulation

    def _new_clock(self, split: SplitWorld) -> LockStep:
        assert self._link is not None
        if self._clock is not None:
            self._clock.close()
        step_ns = round(split.physics.step_size_s * 1e9)
        self._clock = LockStep(self._link, self._period_ns, step_ns)
        return self._clock

    def _stop(self) -> None:
        for part in (self._client, self._clock, self._link, self._server):
            if part is not None:
                part.close()
        self._client = self._clock = self._link = self._server = None
        self._base = None
        self._loaded_names = []
        self._trial_count = 0
