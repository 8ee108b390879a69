"""Run single trials as a function of world, planner, parameters and seed.

:class:`TrialRunner` is for programs that choose the next trial from the results of earlier ones:
searches, tuning, notebooks. It stores nothing; :mod:`gz_testauto.campaign.runner` runs and stores
whole campaigns. Trials of both have the same bits.
"""

import collections
import contextlib
import hashlib
import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import (
    Any,
    Iterable,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Type,
    Union,
)

from gz_testauto.base.disk import read_input
from gz_testauto.base.errors import SceneError, SimulatorError, SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.registry import unknown_name
from gz_testauto.base.scratch import scratch_directory
from gz_testauto.campaign.campaign_files import read_campaign_spec
from gz_testauto.campaign.selection import world_name
from gz_testauto.campaign.simulator import start_simulator, with_simulator
from gz_testauto.campaign.world_source import gather_worlds, mission_of_robot, shortest_path_m
from gz_testauto.metrics.graded_score import GradedScore, graded_score
from gz_testauto.metrics.interface import measure
from gz_testauto.metrics.recording import Recording
from gz_testauto.planners import PLANNERS
from gz_testauto.sdf.robot import RobotBody
from gz_testauto.sdf.scene import read_scene
from gz_testauto.spec.campaign import BuiltinCampaignSpec, BuiltinPlannerSpec, CampaignSpec
from gz_testauto.spec.worlds import RandomNumbers
from gz_testauto.trial.checks import check_trials
from gz_testauto.trial.executor import StopRequest, TrialResult
from gz_testauto.trial.lockstep import LockstepExecutor
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.testbed import BuiltinTestBed, read_body
from gz_testauto.trial.trial import Trial
from gz_testauto.worlds.manifest import sha256_of
from gz_testauto.worlds.record import WorldRecord
from gz_testauto.worlds.source import Mission, Missions, missions_of

MOST_CACHED = 256

# A world of ``TrialRunner.run``: a record, a path, a name or number, or the content.
World = Union[WorldRecord, Path, str, bytes]


@dataclass(frozen=True, eq=False)
class MeasuredTrial:
    """The result of :meth:`TrialRunner.run`.

    ``metrics`` are those that a campaign stores, in SI units. ``key`` is a hash of all inputs of
    the trial that can differ between trials of one runner. ``numbers`` identify its random numbers.
    """

    outcome: Outcome
    detail: str
    recording: Recording
    metrics: Mapping[str, float]
    score: GradedScore
    numbers: RandomNumbers
    key: str

    @property
    def failed(self) -> bool:
        return not self.outcome.success


class TrialRunner:
    """A runner of single trials, which returns their outcome, recording, metrics and score.

    Everything except world, planner, parameters and seed is that of the campaign: robot, start,
    goal, limits, simulator. A trial has the bits of the campaign's trial in the same world with the
    same seed. Results are cached by the content of the inputs. The simulator starts with the first
    trial and runs until :meth:`close`, or until the end of the ``with`` statement. A runner is for
    one thread; use one runner per process for parallel trials.

    Example::

        with gz_testauto.TrialRunner("example", simulator="embedded") as runner:
            trial = runner.run("world_0003", "fgm_constant", {"alpha_m": 0.5}, seed=7)
            print(trial.outcome.value, trial.score.progress_mps)
    """

    def __init__(
        self, campaign: Union[CampaignSpec, str, Path, Mapping[str, Any]], simulator: str = ""
    ) -> None:
        """Read the campaign and the robot.

        ``campaign`` is a specification, the path of a campaign file, the name of an installed
        example, or a mapping with the keys of a campaign file. ``simulator`` replaces that of the
        campaign. Raises ``SpecError`` for an invalid campaign, or one with a navigation stack.
        """
        spec = campaign if isinstance(campaign, CampaignSpec) else read_campaign_spec(campaign)
        self.spec: BuiltinCampaignSpec = with_simulator(spec, simulator)
        """The campaign."""
        self.simulated = 0
        """Number of trials that were simulated, without those from the cache."""
        self._bed = BuiltinTestBed(self.spec, read_body(self.spec))
        self._missions = Missions(self.spec)
        self._worlds: Optional[Tuple[WorldRecord, ...]] = None
        self._folder: Optional[Path] = None
        self._resources = contextlib.ExitStack()
        self._executor: Optional[LockstepExecutor] = None
        self._cache: collections.OrderedDict[str, MeasuredTrial] = collections.OrderedDict()

    def __enter__(self) -> "TrialRunner":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the simulator, and remove the temporary files. Idempotent."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.close()
        self._resources.close()
        self._folder = self._worlds = None

    @property
    def worlds(self) -> Tuple[WorldRecord, ...]:
        """The worlds of the campaign; first use generates them in a temporary directory."""
        if self._worlds is None:
            folder = self._temporary_folder() / "worlds"
            self._worlds = gather_worlds(self.spec, self._bed.robot, folder)
            self._missions = missions_of(self.spec, folder)
        return self._worlds

    def shortest_path_m(
        self, world: World, start: Optional[Pose2D] = None, goals: Optional[Sequence[Pose2D]] = None
    ) -> Optional[float]:
        """Return the length (m) of the shortest path as in :func:`path_of_mission_m`.

        The parameters are those of :meth:`run`. No trial is simulated.
        """
        record = self.record(world)
        mission = self._mission_in(record, start, goals)
        return path_of_mission_m(self.spec, self._bed.robot, record.path, mission)

    def run(
        self,
        world: World,
        planner: str,
        parameters: Optional[Mapping[str, Any]] = None,
        seed: Union[RandomNumbers, int, None] = None,
        *,
        start: Optional[Pose2D] = None,
        goals: Optional[Sequence[Pose2D]] = None,
        without: Iterable[str] = (),
        timeout_s: Optional[float] = None,
        should_stop: StopRequest = lambda: False,
    ) -> MeasuredTrial:
        """Run one trial, or return the result of an earlier trial with the same inputs.

        Raises ``SpecError`` for invalid inputs, ``SceneError`` if the scene is invalid, for example
        if models overlap, ``SimulatorError`` if all attempts (``limits.max_attempts``) are invalid,
        and ``TrialStopped`` if ``should_stop`` returned True.

        Parameters
        ----------
        world
            a world of the campaign, as a record or by its name or number; or any world file, as a
            ``Path`` or its content
        planner
            name of a planner of the campaign, or of a registered plug-in
        parameters
            parameters of the planner's constructor, which replace those of the same names in the
            campaign
        seed
            the random numbers of the trial; an integer is the seed of a campaign whose first world
            this is. The default is the seed of the campaign with the index of the world
        start, goals
            start pose and goals of the robot (m, rad, world frame), by default those of the
            campaign in this world
        without
            names of actors, robots, effects, hooks and terms of ``randomize`` that are omitted
        timeout_s
            simulated time (s) after which the trial ends with its recording as ``timed_out``
        should_stop
            function that is called once per control period; True stops the trial
        """
        record = self.record(world)
        trial = Trial(
            record,
            self._mission_in(record, start, goals),
            self._planner_spec(planner, parameters),
            self._random_numbers(record, seed),
            omitted=frozenset(without),
            timeout_s=timeout_s,
        )
        return self.execute(trial, should_stop)

    def execute(self, trial: Trial, should_stop: StopRequest = lambda: False) -> MeasuredTrial:
        """Run one trial like :meth:`run`. The fields ``index`` and ``repetition`` have no
        effect."""
        key = _content_key(trial)
        if key not in self._cache:
            self._cache[key] = self._measure(trial, key, should_stop)
            while len(self._cache) > MOST_CACHED:
                # the least recently used result
                self._cache.popitem(last=False)
        self._cache.move_to_end(key)
        return self._cache[key]

    def _measure(self, trial: Trial, key: str, should_stop: StopRequest) -> MeasuredTrial:
        bed = self._bed.without(trial.omitted)
        if trial.world.shortest_path_m is None:
            mission = mission_of_robot(self.spec, bed.robot, trial.mission)
            length_m = shortest_path_m(bed.world_scene(trial.world), mission)
            trial = replace(trial, world=replace(trial.world, shortest_path_m=length_m))
        check_trials(bed, [trial])
        result = self._attempt(trial, should_stop)
        self.simulated += 1
        rules = bed.rules(trial)
        goals_m = [(goal.x_m, goal.y_m) for goal in trial.mission.goals]
        return MeasuredTrial(
            result.outcome,
            result.detail,
            result.recording,
            measure(result.recording, bed.metric_context, bed.metrics),
            graded_score(result.recording, result.outcome.success, goals_m, rules.timeout_s),
            trial.numbers,
            key,
        )

    def _attempt(self, trial: Trial, should_stop: StopRequest) -> TrialResult:
        for attempt in range(1, self.spec.limits.max_attempts + 1):
            try:
                return self._open_executor().execute(trial, should_stop)
            except SimulatorError as error:
                if isinstance(error, SceneError) or attempt == self.spec.limits.max_attempts:
                    raise
                self._open_executor().recover()
        raise AssertionError("max_attempts is at least 1")

    def _open_executor(self) -> LockstepExecutor:
        if self._executor is None:
            executor = LockstepExecutor(self._bed, start_simulator)
            try:
                executor.open()
            except BaseException:
                executor.close()
                raise
            self._executor = executor
        return self._executor

    def record(self, world: World) -> WorldRecord:
        """Return the record of a world.

        For a path or the content of a file, the index is 0, and the name contains the hash of the
        content.
        """
        if isinstance(world, WorldRecord):
            return world
        if isinstance(world, str):
            name = world_name(world, self.worlds)
            return next(record for record in self.worlds if record.name == name)
        content = world if isinstance(world, bytes) else read_input(Path(world), SpecError)
        digest = sha256_of(content)
        name = f"world_{digest[:12]}"
        path = Path(world) if not isinstance(world, bytes) else self._write_world(name, content)
        return WorldRecord(0, name, path.absolute(), digest)

    def _write_world(self, name: str, content: bytes) -> Path:
        path = self._temporary_folder() / f"{name}.world"
        if not os.path.exists(path):
            path.write_bytes(content)
        return path

    def _temporary_folder(self) -> Path:
        if self._folder is None:
            self._folder = self._resources.enter_context(scratch_directory())
        return self._folder

    def _random_numbers(
        self, record: WorldRecord, seed: Union[RandomNumbers, int, None]
    ) -> RandomNumbers:
        if seed is None:
            return self.spec.random_numbers(record.world_index, 0)
        return RandomNumbers(seed=seed) if isinstance(seed, int) else seed

    def _mission_in(
        self, record: WorldRecord, start: Optional[Pose2D], goals: Optional[Sequence[Pose2D]]
    ) -> Mission:
        mission = self._missions.of(record.name)
        goals = mission.goals if goals is None else tuple(goals)
        return Mission(start or mission.start, goals, mission.road)

    def _planner_spec(
        self, name: str, parameters: Optional[Mapping[str, Any]]
    ) -> BuiltinPlannerSpec:
        entries = {entry.name: entry for entry in self.spec.planners}
        if name not in entries:
            if name not in PLANNERS.names():
                raise SpecError(unknown_name("planner", name, [*entries, *PLANNERS.names()]))
            entries[name] = BuiltinPlannerSpec(name=name, plugin=name)
        entry = entries[name]
        return entry.with_settings(entry.name, parameters or {})


def path_of_mission_m(
    spec: CampaignSpec, robot: RobotBody, world: Path, mission: Mission
) -> Optional[float]:
    """Return the length (m) of the shortest path of the robot's circumscribed circle from the start
    to all goals, or None if no path exists."""
    return shortest_path_m(read_scene(world), mission_of_robot(spec, robot, mission))


def _content_key(trial: Trial) -> str:
    # Files count by their content. Names of worlds and planners do not count.
    planner, world = trial.planner, trial.world
    assert isinstance(planner, BuiltinPlannerSpec)
    inputs = {
        "world": world.sha256,
        "known": [world.shortest_path_m, dict(world.published)],
        "mission": asdict(trial.mission),
        "numbers": trial.numbers.model_dump(),
        "plugin": planner.plugin,
        "parameters": {key: _hash_if_file(value) for key, value in planner.parameters.items()},
        "omitted": sorted(trial.omitted),
        "timeout_s": trial.timeout_s,
    }
    return hashlib.sha256(json.dumps(inputs, sort_keys=True, default=str).encode()).hexdigest()


def _hash_if_file(value: Any) -> Any:
    if isinstance(value, (str, Path)) and os.path.isfile(value):
        return sha256_of(read_input(Path(value), SpecError))
    return value
