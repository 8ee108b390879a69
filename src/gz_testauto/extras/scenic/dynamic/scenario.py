"""A hook that runs a dynamic Scenic scenario in a trial.

Scenic's own loop runs unchanged in a coroutine. Where Scenic would step the simulator, the loop
waits for the next control period. Behaviors, monitors and requirements thus evaluate each snapshot.
Importing this module imports Scenic.
"""

import contextlib
import functools
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple

import numpy as np
from greenlet import GreenletExit, getcurrent, greenlet
from scenic.core import dynamics
from scenic.core.distributions import RejectionException
from scenic.core.dynamics import GuardViolation, RejectSimulationException
from scenic.core.requirements import RequirementType
from scenic.core.simulators import Action
from scenic.core.simulators import Simulation as ScenicSimulation
from scenic.core.vectors import Orientation, Vector
from scipy.spatial.transform import Rotation

from gz_testauto.actors.actor import ARRIVED_M, ROUNDING_S, turn_rate, velocity_towards
from gz_testauto.actors.bodies import actor_body_of
from gz_testauto.actors.hook import HIGH, Hook, HookResults, StepContext
from gz_testauto.actors.plane import MotionPlane
from gz_testauto.base import resources
from gz_testauto.base.disk import read_input
from gz_testauto.base.errors import GzTestautoError, SceneError, SpecError
from gz_testauto.base.observation import Snapshot
from gz_testauto.base.pose import Pose
from gz_testauto.extras.scenic.dynamic.actions import Motion
from gz_testauto.extras.scenic.dynamic.global_state import (
    GeneratorStates,
    register_running_scenario,
    stop_running_scenario,
    unregister_running_scenario,
)
from gz_testauto.extras.scenic.language.faults import located_message
from gz_testauto.extras.scenic.language.statements import OF_SERIES, PREFIX
from gz_testauto.extras.scenic.source import DynamicObject, DynamicScene, ScenicSource
from gz_testauto.extras.scenic.spec import ScenicSpec
from gz_testauto.extras.scenic.world_file import expanded_world
from gz_testauto.sampling.seeds import PERFORMANCE, child_seed
from gz_testauto.simulators.changes import SetModel
from gz_testauto.simulators.interface import NamedModel

GLIDES_M = 0.02  # height of a moving agent above its resting position; the ground would brake it


def scenario_hook(
    spec: ScenicSpec, seed: int, world: Path, index: int, repetition: int, robot: str
) -> "ScenarioHook":
    """Stop the running scenario, and return the hook for a trial. ``robot`` is the model that is
    the ego. Raises ``SpecError`` if the scenario cannot run in a trial."""
    stop_running_scenario()
    source = _cached_source(
        spec.file, spec.models, seed, json.dumps(spec.parameters), spec.keep_placed
    )
    scene = source.dynamic_scene(index, read_input(world, SpecError))
    ego = source.program.scenario.egoObject.gz_model
    if ego != spec.mission.start:
        raise SpecError(
            f"{spec.file}: the ego, which represents the robot, is "
            f"{'no mission item' if ego is None else ego}, but worlds.scenic.mission.start is "
            f"{spec.mission.start}; write `ego = new ...` of the class of {spec.mission.start}"
        )
    draws = child_seed(seed, PERFORMANCE, index, repetition)
    return ScenarioHook(scene, robot, draws, world.parent / resources.MODELS)


@functools.lru_cache(maxsize=1)
def _cached_source(
    scenario: Any, models: Any, seed: int, parameters: str, keep: bool
) -> ScenicSource:
    return ScenicSource(scenario, models, seed, json.loads(parameters), keep=keep, dynamic=True)


class ScenarioHook(Hook):
    """A hook that runs one step of a scenario in each control period.

    ``models`` are the agents at their initial poses. Their files are searched in the folder
    ``files`` first. Behaviors draw random numbers with ``seed``.
    """

    name = "scenario"
    priority = HIGH

    def __init__(self, scene: DynamicScene, robot: str, seed: int, files: Path) -> None:
        self._scene = scene
        objects = [_lift_agent(obj) for obj in scene.objects]
        ego = scene.objects[0]
        objects[0] = replace(ego, name=robot, origin=ego.origin.planar.to_pose())
        self.objects: Tuple[DynamicObject, ...] = tuple(objects)
        agents = {obj.name: obj for obj in objects if obj.has_behavior and obj.name}
        self._agents = {name: objects.index(obj) for name, obj in agents.items()}
        document = expanded_world(scene.agents, "<agents>", files)
        version = document.root.get("version", "1.6")
        self.models: Tuple[NamedModel, ...] = tuple(
            NamedModel(name, actor_body_of(model, version, f"agent {name!r}"), agents[name].origin)
            for model in document.root.iterfind("world/model")
            for name in [model.get("name")]
        )
        self._frames = [obj.origin.inverse() * obj.middle for obj in objects]
        self._planes = {name: MotionPlane() for name in self._agents}
        self.motions = [Motion() for _ in objects]  # changed by the actions of behaviors
        self._states = GeneratorStates.seeded(seed)
        self._loop: Any = None
        self._due_s, self._step_s = -math.inf, 0.0
        self._last: Optional[Snapshot] = None
        self.context: Optional[StepContext] = None
        self.simulation: Optional[_TrialSimulation] = None

    def before_step(self, context: StepContext) -> None:
        """Run a step of the scenario, and move its agents. Raises ``SceneError`` if a requirement
        or the program fails, or if a contact has lifted or tilted an agent."""
        self.context = context
        if self._loop is None:
            dynamics.stuckBehaviorWarningTimeout = 0  # it uses signals, which threads cannot
            register_running_scenario(self.close)
            self._step_s, self._due_s = context.duration_s, context.time_s
            self._loop = greenlet(self._run_scenario)
        while not self._loop.dead and self._due_s <= context.time_s + ROUNDING_S:
            self._run_step(context)
            self._due_s += self._step_s
        for name, number in self._agents.items():
            self._move_agent(number, name, context)

    def after_step(self, snapshot: Snapshot) -> None:
        self._last = snapshot

    def results(self) -> HookResults:
        """Return the values of ``record`` statements, also at the end of the trial if the scenario
        still runs. Call it once. Raises ``SceneError`` for a value that cannot be stored."""
        simulation, last = self.simulation, self._last
        if simulation is None:
            return HookResults()
        try:
            if not self._loop.dead and last is not None and self.context is not None:
                before = self.context.snapshot
                self.context = StepContext(last, self._step_s, self.context.describe, before)
                with self._states.active():
                    simulation.record_end()
            return recorded_of(simulation.records, self._step_s)
        except (Exception, SystemExit) as error:  # a scenario can raise any exception
            message = located_message(self._scene.program.path, error)
            raise SceneError(f"the scenario failed at the end of the trial: {message}") from error

    def close(self) -> None:
        unregister_running_scenario(self.close)
        if self._loop is not None and not self._loop.dead:
            self._loop.throw(GreenletExit)

    @property
    def activities(self) -> Dict[str, str]:
        objects = self._scene.scene.objects
        return {
            name: type(objects[number].behavior).__name__ for name, number in self._agents.items()
        }

    def pause(self) -> None:
        """Wait for the next control period, in the running scenario."""
        getcurrent().parent.switch()

    def _run_scenario(self) -> None:
        with contextlib.suppress(GreenletExit):
            _TrialSimulation(self, self._scene.scene, self._step_s)
        self.motions = [Motion() for _ in self.objects]  # the scenario has ended: no agent moves

    def _run_step(self, context: StepContext) -> None:
        for motion in self.motions:
            motion.toward = motion.place = None
        self._loop.parent = getcurrent()
        path, at = self._scene.program.path, f"at {context.time_s:.2f} s"
        try:
            with self._states.active():
                self._loop.switch()
        except (RejectSimulationException, RejectionException, GuardViolation) as error:
            message = located_message(path, error)
            raise SceneError(f"the scenario rejects this trial {at}: {message}") from error
        except GzTestautoError:
            raise
        except (Exception, SystemExit) as error:  # a scenario can raise any exception
            message = located_message(path, error)
            raise SceneError(f"the scenario failed {at}: {message}") from error

    def middle(self, number: int) -> Pose:
        """Return the current pose of the center of ``objects[number]`` in Scenic's axes."""
        obj = self.objects[number]
        assert self.context is not None
        state = None if obj.name is None else self.context.state(obj.name)
        if state is None:
            return obj.middle
        if number == 0:  # the robot, which is level
            return state.pose.planar.to_pose() * self._frames[0]
        return state.pose * self._frames[number]

    def seen(self, number: int) -> Tuple[Pose, Tuple[float, float, float], float]:
        """Return the pose of :meth:`middle`, and the mean velocity (m/s) and yaw rate (rad/s) in
        the last control period."""
        name, context = self.objects[number].name, self.context
        assert context is not None
        if name is None:
            return self.middle(number), (0.0, 0.0, 0.0), 0.0
        return self.middle(number), context.velocity_mps(name), context.turn_radps(name)

    def _move_agent(self, number: int, name: str, context: StepContext) -> None:
        state = context.state(name)
        if state is None:
            return
        motion, middle, plane = self.motions[number], self.middle(number), self._planes[name]
        plane.require(state.pose, context.time_s, f"agent {name!r}", "change its path")
        x_m, y_m, z_m = middle.position
        if motion.place is not None:
            plane.leave()
            place = Pose((motion.place.x, motion.place.y, z_m), middle.quaternion)
            context.change(SetModel(name, place * self._frames[number].inverse()))
            return
        velocity, heading, duration_s = motion.velocity_mps, motion.heading, context.duration_s
        if motion.toward is not None:
            point, speed_mps, faces = motion.toward
            offset_m = np.array([point.x - x_m, point.y - y_m])
            towards, _ = velocity_towards(offset_m, speed_mps, duration_s)
            velocity = (float(towards[0]), float(towards[1]), 0.0)
            if faces and np.linalg.norm(offset_m) > ARRIVED_M:
                heading = math.atan2(-offset_m[0], offset_m[1])
        turn = motion.turn_radps
        if heading is not None:
            turn = turn_rate(middle.yaw_rad, heading, duration_s)
        x_away, y_away = state.pose.position[0] - x_m, state.pose.position[1] - y_m
        z_mps = velocity[2]
        if z_mps:
            plane.leave()
        else:
            z_mps = plane.return_mps(state.pose, duration_s)
        # the agent turns about its center
        linear = (velocity[0] - turn * y_away, velocity[1] + turn * x_away, z_mps)
        context.change(SetModel(name, None, linear, (0.0, 0.0, turn)))


class _TrialSimulation(ScenicSimulation):
    """Scenic's simulation loop with one step for each control period of the hook."""

    def __init__(self, hook: ScenarioHook, scene: Any, step_s: float) -> None:
        self._hook = hook
        hook.simulation = self
        self.objects: List[Any] = []
        self._indices: Dict[int, int] = {}
        self._last_states: Dict[int, Tuple[Any, ...]] = {}
        super().__init__(scene, maxSteps=None, name="trial", timestep=step_s, enableReplay=False)

    def createObjectInSimulator(self, obj: Any) -> None:
        if len(self._indices) == len(self._hook.objects):
            raise SpecError(
                "the scenario creates an object during a trial, which is not supported; create it "
                "before the trial, with a behavior that waits"
            )
        self._indices[id(obj)] = len(self._indices)

    def record_end(self) -> None:
        self.currentTime += 1
        self.updateObjects()
        self.recordCurrentState()
        scenario = self.scene.dynamicScenario
        self.records.update(
            scenario._evaluateRecordedExprs(RequirementType.recordFinal, self.currentTime)
        )

    def recordCurrentState(self) -> None:
        """Record the current values, with the position of an object instead of the object."""
        super().recordCurrentState()
        for values in self.records.values():
            if isinstance(values, list) and values:
                step, value = values[-1]
                values[-1] = (step, getattr(value, "position", value))

    def actionsAreCompatible(self, agent: Any, actions: Any) -> bool:
        """Raise ``TypeError`` for an object that is not an action."""
        for action in actions:
            if not isinstance(action, Action):
                raise TypeError(
                    f"`take {action!r}` in behavior {type(agent.behavior).__name__}: the value is "
                    "not an action; use an action such as SetVelocityAction(1, 0) (docs/scenic.md)"
                )
        return bool(super().actionsAreCompatible(agent, actions))

    def motion_of(self, agent: Any) -> Motion:
        return self._hook.motions[self._indices[id(agent)]]

    def step(self) -> None:
        self._hook.pause()

    def updateObjects(self) -> None:
        # updates are slow and most objects do not move
        all_objects = self.objects
        self.objects = []
        for obj in all_objects:
            number = self._indices[id(obj)]
            seen = self._hook.seen(number)
            if self._last_states.get(number) != seen:
                self._last_states[number] = seen
                self.objects.append(obj)
        try:
            super().updateObjects()
        finally:
            self.objects = all_objects

    def getProperties(self, obj: Any, properties: Any) -> Dict[str, Any]:
        pose, velocity, rate = self._last_states[self._indices[id(obj)]]
        orientation = Orientation(Rotation.from_quat(pose.quaternion))
        yaw, pitch, roll = obj.parentOrientation.localAnglesFor(orientation)
        values: Dict[str, Any] = {
            "position": Vector(*pose.position),
            "yaw": yaw,
            "pitch": pitch,
            "roll": roll,
            "velocity": Vector(*velocity),
            "speed": math.hypot(*velocity),
            "angularVelocity": Vector(0.0, 0.0, rate),
            "angularSpeed": abs(rate),
        }
        return {name: values.get(name, getattr(obj, name, None)) for name in properties}


def recorded_of(records: Mapping[str, Any], step_s: float) -> HookResults:
    """Return the recorded numbers and series, with minimum, mean and maximum of a series of
    numbers. Raises ``TypeError`` for a value that cannot be stored."""
    numbers: Dict[str, float] = {}
    series: Dict[str, np.ndarray] = {}
    for name, values in records.items():
        if not isinstance(values, list):
            numbers[PREFIX + name] = _to_float(name, values)
            continue
        rows = [
            (step * step_s, *(value if isinstance(value, Vector) else [_to_float(name, value)]))
            for step, value in values
        ]
        array = np.array(rows, dtype=float)
        series[PREFIX + name] = array
        if array.shape[1] == 2:
            for kind in OF_SERIES:
                numbers[f"{PREFIX}{name}_{kind}"] = float(getattr(np, kind)(array[:, 1]))
    return HookResults(numbers, series)


def _to_float(name: str, value: Any) -> float:
    if isinstance(value, (bool, int, float, np.number, np.bool_)):
        return float(value)
    raise TypeError(
        f"`record ... as {name}` has the value {value!r}; it must be a number or a truth value, "
        "or in a series a position"
    )


def _lift_agent(obj: DynamicObject) -> DynamicObject:
    if not obj.has_behavior:
        return obj
    x, y, z = obj.origin.position
    return replace(obj, origin=Pose((x, y, z + GLIDES_M), obj.origin.quaternion))
