"""Loads scene after scene on a gzserver of our own, and decides when a fresh one is needed.

Owns the swap between trials and the rule for reuse. A server is reused when the new world has
the same base as its own, when nothing went wrong on it, and for ``trials_per_server`` trials
at most. The swap brings everything that can have changed anew, in the same order as on a
fresh server: the movables and the robot are deleted and spawned, time is set to zero, and the
random generators are seeded.
"""

import re
from dataclasses import replace
from typing import List, Optional, Sequence, Tuple

from typing_extensions import Literal, get_args

from gz_testauto.base import resources
from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.simulators.gazebo.aliases import Alias
from gz_testauto.simulators.gazebo.drive_command import DriveCommand, require_drive
from gz_testauto.simulators.gazebo.engines import FRESH, LACKING, check_engine
from gz_testauto.simulators.gazebo.gzclient import GuiClient
from gz_testauto.simulators.gazebo.installation import GazeboInstallation, find_gazebo
from gz_testauto.simulators.gazebo.instruments import instrument_model, instrument_robot
from gz_testauto.simulators.gazebo.lockstep import RESTING_RATE_HZ, LockStep
from gz_testauto.simulators.gazebo.scratch import ScratchDirectory
from gz_testauto.simulators.gazebo.server import ServerProcess
from gz_testauto.simulators.gazebo.simulation import GazeboSimulation, alone
from gz_testauto.simulators.gazebo.split_world import SplitWorld, split_world
from gz_testauto.simulators.gazebo.threads.sensor_threads import teach_period
from gz_testauto.simulators.gazebo.world import WorldLink
from gz_testauto.simulators.interface import Scene, Simulator

HeightMaps = Literal["fields", "meshes"]


class SceneRefusedError(SimulatorError):
    """The scene is at fault, and another server would not take it either."""


class GazeboSimulator(Simulator):
    """A real gzserver, started and owned by this object, on loopback only.

    ``gui`` opens gzclient on it. ``trials_per_server`` bounds how many scenes one server
    serves. ``stall_timeout_s`` is the wall time without progress after which the server
    counts as dead. ``period_s`` is the longest time between two measurements of contacts and
    IMU: the step that will be used, or a part of it. ``obstacle_names`` is a
    regular expression that matches the whole names of the random obstacles, those that the
    spawner gives unless told; other static models are taken to be the base.
    ``world_plugins`` says whether what the worlds' ``<plugin>`` elements name is loaded; the
    robot's own always is. ``allow_missing`` names plugins (``libname.so``; ``*`` stands for any
    text) without which a scene is simulated where they are not installed. ``engine`` is the
    physics engine, one of ``ode``, ``bullet`` and ``dart``; by default the one that a world states.
    ``height_maps`` says what ODE gets of those of the worlds' static models: ``"fields"``, as they
    are, whose edges wheels go through, or ``"meshes"`` of the same heights.
    """

    name = "gazebo"
    repeatable = True
    sets_twist = False
    several_robots = True
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
        """Find Gazebo; raises ``MissingDependencyError``. The server starts with the first
        scene."""
        if engine is not None:
            check_engine(engine)
        if height_maps not in get_args(HeightMaps):
            raise ValueError(
                f"height_maps must be one of {', '.join(get_args(HeightMaps))}, not {height_maps!r}"
            )
        if height_maps == "meshes" and engine not in (None, "ode"):
            raise ValueError(f"height_maps: meshes are for ODE only, and engine is {engine!r}")
        if trials_per_server < 1 or period_s <= 0 or stall_timeout_s <= 0:
            raise ValueError("trials_per_server, period_s and stall_timeout_s must be positive")
        self._installation: GazeboInstallation = find_gazebo()
        self._engine = engine
        self._meshes = ScratchDirectory() if height_maps == "meshes" else None
        self.changes = GazeboSimulation.changes - LACKING[engine or "ode"]
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
        self._client: Optional[GuiClient] = None
        self._base: Optional[str] = None
        self._last: Optional[GazeboSimulation] = None
        self._loaded: List[str] = []
        self._served = 0

    @property
    def processes(self) -> Tuple[int, ...]:
        """That of gzserver, once a scene has been loaded; another one when it was replaced."""
        return () if self._server is None else (self._server.pid,)

    def turn_limit_radps(self, robot: RobotModel) -> float:
        """What Gazebo's drive plugins do not wrap around."""
        return DriveCommand(robot).limit_radps

    def _load(self, scene: Scene) -> GazeboSimulation:
        """On this server or a fresh one."""
        for placed in scene.robots:
            require_drive(placed.robot)
        self._take_over()
        split = split_world(
            scene.world,
            RESTING_RATE_HZ,
            self._obstacles,
            plugins=self._world_plugins,
            engine=self._engine,
            meshes=None if self._meshes is None else self._meshes.path,
        )
        taken = {*split.poses, *(model.name for model in split.movables)}
        for model in scene.models:
            if model.name in taken:
                raise SimulatorError(f"{scene.world} has a model {model.name!r} already")
        split = replace(split, movables=(*split.movables, *map(alone, scene.models)))
        try:
            self._last = self._bring(split, scene)
        except BaseException:
            self._stop()
            raise
        self._served += 1
        return self._last

    def _close(self) -> None:
        """End the server, the window and everything they started."""
        self._last = None
        self._stop()
        if self._meshes is not None:
            self._meshes.remove()

    def _bring(self, split: SplitWorld, scene: Scene) -> GazeboSimulation:
        if self._can_reuse(split):
            try:
                return self._place(split, scene)
            except SceneRefusedError:
                raise
            except SimulatorError:  # of this server then: nothing has been simulated yet
                self._stop()
        self._start(split, scene.seed)
        return self._place(split, scene)

    def _can_reuse(self, split: SplitWorld) -> bool:
        return (
            self._server is not None
            and self._server.alive
            and split.reusable
            and split.engine not in FRESH
            and self._base == split.fingerprint
            and self._served < self._trials_per_server
        )

    def _take_over(self) -> None:
        """Take the server from the simulation before, with what that leaves there."""
        last, self._last = self._last, None
        if last is not None:
            self._loaded = last.spawned
            if not last.server_is_sound:
                self._stop()

    def _start(self, split: SplitWorld, seed: int) -> None:
        self._stop()
        self._server = ServerProcess(
            self._installation, split.base, seed, model_path=resources.model_path()
        )
        self._link = WorldLink(self._server, self._stall_timeout_s)
        self._base = split.fingerprint
        self._loaded = teach_period(self._link, self._new_clock(split))
        if self._gui:
            self._client = GuiClient(self._installation, self._server.port)

    def _place(self, split: SplitWorld, scene: Scene) -> GazeboSimulation:
        """Swap what moves: the old goes while the new comes, under other names."""
        assert self._link is not None and self._server is not None
        link, mark = self._link, self._server.log_size()
        alias = Alias(second=self._served % 2 == 1)
        clock = self._new_clock(split)
        period_ns = clock.sensor_period_ns
        engine = split.engine
        models = [instrument_model(movable, period_ns, alias, engine) for movable in split.movables]
        to_spawn = [fitted.model for fitted in models]
        robots, places = [], []
        for placed in scene.robots:
            robot = instrument_robot(placed.robot, placed.start, period_ns, alias, engine)
            robots.append(robot)
            # The drive plugins measure a wheel by its upright bounding box when they are
            # loaded, so the robot is spawned facing along x and turned afterwards.
            body = robot.body.model
            to_spawn.append(replace(body, pose=Pose(body.pose.position)))
            places.append((body.name, body.pose))
            models.append(robot.body)
        link.release()
        link.request_deletion(self._loaded)
        self._loaded = [model.name for model in to_spawn]
        if engine == "bullet":  # the order of its bodies depends on what is there as they come
            link.await_deletion()
        clock.rewind()
        driven = {
            robot.robot.name: (
                robot,
                link.advertise_to(robot.body.model.name, "vel_cmd", "Pose"),
            )
            for robot in robots
        }
        if to_spawn:
            link.spawn(to_spawn, places)
        link.await_deletion()
        simulation = GazeboSimulation(link, clock, scene, split, models, driven, alias)
        simulation.begin(scene.seed)
        complaint = self._server.fatal_complaint_since(
            mark if self._served else 0, self._allow_missing
        )
        if complaint is not None:
            raise SceneRefusedError(
                f"gzserver could not load the scene: {complaint}. Have Gazebo find it "
                "(GAZEBO_PLUGIN_PATH, GAZEBO_MODEL_PATH), or run without it (worlds.allow_missing; "
                "--no-plugins for all plugins of the worlds)"
            )
        return simulation

    def _new_clock(self, split: SplitWorld) -> LockStep:
        assert self._link is not None
        return LockStep(self._link, self._period_ns, round(split.physics.step_size_s * 1e9))

    def _stop(self) -> None:
        for part in (self._client, self._link, self._server):
            if part is not None:
                part.close()
        self._client = self._link = self._server = None
        self._base = None
        self._loaded = []
        self._served = 0
