"""Run single trials as a function of world, planner, parameters and seed.

:class:`TrialRunner` is for programs that choose the next trial from the results of earlier ones:
searches, tuning, notebooks. It stores nothing on disk; :mod:`gz_testauto.campaign.runner` runs and
stores whole campaigns. Trials of both have the same bits.
"""

import collections
import hashlib
import json
import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import (
    Any,
    Dict,
    Iterable,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Type,
    Union,
)

from gz_testauto.base.disk import read_input
from gz_testauto.base.errors import SimulatorError, SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.registry import unknown_name
from gz_testauto.campaign.campaign_files import read_campaign_spec
from gz_testauto.campaign.selection import world_name
from gz_testauto.campaign.simulator import start_simulator, with_simulator
from gz_testauto.campaign.world_source import gather_worlds, mission_in, shortest_path_m
from gz_testauto.metrics.graded_score import GradedScore, graded_score
from gz_testauto.metrics.interface import measure
from gz_testauto.metrics.recording import Recording
from gz_testauto.planners import PLANNERS
from gz_testauto.planners.timed import warm_up
from gz_testauto.sdf.robot import RobotBody
from gz_testauto.sdf.scene import read_scene
from gz_testauto.spec.campaign import BuiltinCampaignSpec, BuiltinPlannerSpec, CampaignSpec
from gz_testauto.spec.model import PoseSpec
from gz_testauto.spec.worlds import RandomNumbers, WorldFileSpec
from gz_testauto.trial.checks import check_trials
from gz_testauto.trial.executor import StopRequest, TrialResult
from gz_testauto.trial.lockstep import LockstepExecutor
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.plan import Trial, trial_seed
from gz_testauto.trial.setup import PreparedBuiltin, read_body
from gz_testauto.worlds.manifest import sha256_of
from gz_testauto.worlds.record import WorldRecord
from gz_testauto.worlds.source import Missions, missions_of

MOST_CACHED = 256
"""Largest number of results that a runner keeps. The same inputs give the same bits again."""

REMOVABLE = ("actors", "randomize", "effects", "hooks", "robots")
"""Keys of a campaign whose entries a trial can omit by name."""

World = Union[WorldRecord, Path, str, bytes]
"""A world of :meth:`TrialRunner.run`: a record, a path, a name or number, or the content."""


class TrialSeed(NamedTuple):
    """The random numbers of a trial: those of the trial in the world with the index ``world``, from
    0, and the ``repetition`` of a campaign with ``seed``.
    """

    seed: int
    world: int = 0
    repetition: int = 0

    @classmethod
    def of_trial(cls, spec: CampaignSpec, world: int, repetition: int = 0) -> "TrialSeed":
        """Return the random numbers of a trial of a campaign. World and repetition are indices."""
        numbers = spec.random_numbers(world, repetition)
        return cls(numbers.seed, numbers.world, numbers.repetition)


@dataclass(frozen=True, eq=False)
class MeasuredTrial:
    """The result of :meth:`TrialRunner.run`.

    ``metrics`` are the metrics that a campaign stores, by name, in SI units. ``key`` is a hash of
    all inputs of the trial. ``seed`` are its random numbers.
    """

    outcome: Outcome
    detail: str
    recording: Recording
    metrics: Mapping[str, float]
    score: GradedScore
    seed: TrialSeed
    key: str

    @property
    def failed(self) -> bool:
        """Return whether the trial did not succeed."""
        return not self.outcome.success


class TrialRunner:
    """A function that runs one trial: world, planner, parameters and seed → outcome, recording,
    metrics and score.

    Everything else is that of the campaign: robot, start, goal, limits, simulator. A trial has the
    bits of the campaign's trial in the same world with the same seed. Results are cached by the
    content of the inputs. The simulator starts with the first trial and runs until :meth:`close`,
    or until the end of the ``with`` statement. A runner is for one thread; use one runner per
    process for parallel trials.

    Example::

        with gz_testauto.TrialRunner("example", simulator="embedded") as runner:
            trial = runner.run("world_0003", "fgm", {"alpha_m": 0.5}, seed=7)
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
        self._robot = read_body(self.spec)
        self._missions = Missions(self.spec)
        self._worlds: Optional[Tuple[WorldRecord, ...]] = None
        self._folder: Optional[tempfile.TemporaryDirectory[str]] = None
        self._executor: Optional[LockstepExecutor] = None
        self._maps = self._prepared(self.spec, (), self._missions).static_map
        self._cache: collections.OrderedDict[str, MeasuredTrial] = collections.OrderedDict()
        self._warm: List[str] = []

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
        folder, self._folder = self._folder, None
        if folder is not None:
            folder.cleanup()
        self._worlds = None

    @property
    def robot_height_m(self) -> Tuple[float, float]:
        """The heights (m) of the lowest and the highest point of the robot."""
        return self._robot.height_m

    @property
    def worlds(self) -> Tuple[WorldRecord, ...]:
        """The worlds of the campaign, which are generated in a temporary directory at first use."""
        if self._worlds is None:
            folder = self._temporary() / "worlds"
            self._worlds = gather_worlds(self.spec, self._robot, folder)
            self._missions = missions_of(self.spec, folder)
        return self._worlds

    def shortest_path_m(
        self, world: World, start: Optional[Pose2D] = None, goals: Optional[Sequence[Pose2D]] = None
    ) -> Optional[float]:
        """Return the length (m) of the shortest path from ``start`` to all ``goals`` of a world, or
        None if the circumscribed circle of the robot has no path.

        The parameters are those of :meth:`run`. No trial is simulated.
        """
        record, missions = self._record(world), self._missions
        return path_of_mission_m(
            self.spec,
            self._robot,
            record.path,
            start or missions.start_in(record.name),
            missions.goals_in(record.name) if goals is None else goals,
        )

    def run(
        self,
        world: World,
        planner: str,
        parameters: Optional[Mapping[str, Any]] = None,
        seed: Union[TrialSeed, int, None] = None,
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
            function that is called once per control period; True abandons the trial
        """
        record = self._record(world)
        numbers = self._numbers(record, seed)
        record = replace(record, world_index=0)  # the only world of the trial's campaign
        spec = self._spec_of(record, planner, parameters, numbers, start, goals, without, timeout_s)
        key = _content_key(record, spec)
        found = self._cache.get(key)
        if found is not None:
            self._cache.move_to_end(key)
            return found
        campaign = self._prepared(spec, (record,), Missions(spec))
        if record.shortest_path_m is None:
            mission = mission_in(spec, self._robot, campaign.missions, record.name)
            length_m = shortest_path_m(campaign.world_scene(record), mission)
            record = replace(record, shortest_path_m=length_m)
            campaign = self._prepared(spec, (record,), campaign.missions)
        name = spec.planners[0].name
        trial = Trial(0, record.name, 0, name, 0, trial_seed(spec.random_numbers(0, 0)))
        check_trials(campaign, [trial])
        result = self._execute(campaign, trial, should_stop)
        self.simulated += 1
        goals_m = [(goal.x_m, goal.y_m) for goal in campaign.missions.goals_in(record.name)]
        measured = MeasuredTrial(
            result.outcome,
            result.detail,
            result.recording,
            measure(result.recording, campaign.metric_context, campaign.metrics),
            graded_score(result.recording, result.outcome.success, goals_m, spec.limits.timeout_s),
            numbers,
            key,
        )
        self._cache[key] = measured
        while len(self._cache) > MOST_CACHED:
            self._cache.popitem(last=False)
        return measured

    def _execute(
        self, campaign: PreparedBuiltin, trial: Trial, should_stop: StopRequest
    ) -> TrialResult:
        """Run a trial; repeat an invalid one in a new simulator."""
        for attempt in range(1, self.spec.limits.max_attempts + 1):
            try:
                executor = self._opened()
                self._warm_up(campaign)
                return executor.for_campaign(campaign).execute(trial, should_stop)
            except SimulatorError:
                if attempt == self.spec.limits.max_attempts:
                    raise
                self._opened().recover()
        raise AssertionError("max_attempts is at least 1")

    def _opened(self) -> LockstepExecutor:
        if self._executor is None:
            bare = self.spec.model_copy(update={"planners": ()})
            executor = LockstepExecutor(self._prepared(bare, (), self._missions), start_simulator)
            try:
                executor.open()
            except BaseException:
                executor.close()
                raise
            self._executor = executor
        return self._executor

    def _warm_up(self, campaign: PreparedBuiltin) -> None:
        """Warm up each plug-in once, so that cycle times do not contain its compilation."""
        for one in campaign.robots:
            for entry in one.spec.planners:
                if entry.plugin not in self._warm:
                    warm_up(entry.plugin, entry.parameters, one.limits, one.spec.has_road)
                    self._warm.append(entry.plugin)

    def _prepared(
        self, spec: BuiltinCampaignSpec, worlds: Tuple[WorldRecord, ...], missions: Missions
    ) -> PreparedBuiltin:
        campaign = PreparedBuiltin(spec, self._robot, worlds, missions)
        if worlds:
            campaign.static_map.share_plans(self._maps)
        return campaign

    def _record(self, world: World) -> WorldRecord:
        """Return the record of a world. A world that is no world of the campaign has the index 0
        and the hash of its content as name.
        """
        if isinstance(world, WorldRecord):
            return world
        if isinstance(world, str):
            name = world_name(world, self.worlds)
            return next(one for one in self.worlds if one.name == name)
        content = world if isinstance(world, bytes) else read_input(Path(world), SpecError)
        digest = sha256_of(content)
        name = f"world_{digest[:12]}"
        path = Path(world) if not isinstance(world, bytes) else self._written(name, content)
        return WorldRecord(0, name, path.absolute(), digest)

    def _written(self, name: str, content: bytes) -> Path:
        path = self._temporary() / f"{name}.world"
        if not os.path.exists(path):
            path.write_bytes(content)
        return path

    def _temporary(self) -> Path:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="gz_testauto_trials_")
        return Path(self._folder.name)

    def _numbers(self, record: WorldRecord, seed: Union[TrialSeed, int, None]) -> TrialSeed:
        if seed is None:
            return TrialSeed.of_trial(self.spec, record.world_index)
        return TrialSeed(seed) if isinstance(seed, int) else seed

    def _spec_of(
        self,
        record: WorldRecord,
        planner: str,
        parameters: Optional[Mapping[str, Any]],
        numbers: TrialSeed,
        start: Optional[Pose2D],
        goals: Optional[Sequence[Pose2D]],
        without: Iterable[str],
        timeout_s: Optional[float],
    ) -> BuiltinCampaignSpec:
        """Return the campaign that consists of this trial only."""
        spec, missions = self.spec, self._missions
        *via, goal = missions.goals_in(record.name) if goals is None else goals
        entry = WorldFileSpec(
            file=f"{record.name}.world",
            name=record.name,
            start=_pose_spec(start or missions.start_in(record.name)),
            goal=_pose_spec(goal),
            via=[_pose_spec(one) for one in via],
            random_numbers=RandomNumbers(**numbers._asdict()),
        ).model_copy(update={"road": missions.road_in(record.name)})
        changed: Dict[str, Any] = {
            "planners": (self._planner(planner, parameters),),
            "worlds": spec.worlds.model_copy(update={"files": [entry]}),
            "repetitions": 1,
            **_reduced(spec, tuple(without)),
        }
        if timeout_s is not None:
            changed["limits"] = spec.limits.model_copy(update={"timeout_s": float(timeout_s)})
        return spec.model_copy(update=changed)

    def _planner(self, name: str, parameters: Optional[Mapping[str, Any]]) -> BuiltinPlannerSpec:
        entries = {entry.name: entry for entry in self.spec.planners}
        if name not in entries:
            if name not in PLANNERS.names():
                raise SpecError(unknown_name("planner", name, [*entries, *PLANNERS.names()]))
            entries[name] = BuiltinPlannerSpec(name=name, plugin=name)
        entry = entries[name]
        return entry.model_copy(update={"parameters": {**entry.parameters, **(parameters or {})}})


def path_of_mission_m(
    spec: CampaignSpec, robot: RobotBody, world: Path, start: Pose2D, goals: Sequence[Pose2D]
) -> Optional[float]:
    """Return the length (m) of the shortest path from ``start`` to all ``goals`` in a world file,
    or None if the circumscribed circle of the robot has no path."""
    *via, goal = goals
    entry = WorldFileSpec(
        file=f"{world.stem}.world",
        start=_pose_spec(start),
        goal=_pose_spec(goal),
        via=[_pose_spec(one) for one in via],
    )
    mission = mission_in(spec, robot, Missions(spec, [entry]), entry.world)
    return shortest_path_m(read_scene(world), mission)


def _reduced(spec: BuiltinCampaignSpec, without: Tuple[str, ...]) -> Dict[str, Any]:
    """Return the keys of the campaign without the entries of these names."""
    known = [entry.name for key in REMOVABLE for entry in getattr(spec, key)]
    for name in without:
        if name not in known:
            raise SpecError(f"campaign {spec.name}: {unknown_name('entry', name, known)}")
    return {
        key: tuple(entry for entry in getattr(spec, key) if entry.name not in without)
        for key in (REMOVABLE if without else ())
    }


def _pose_spec(pose: Pose2D) -> PoseSpec:
    return PoseSpec(x_m=pose.x_m, y_m=pose.y_m, yaw_rad=pose.yaw_rad)


def _content_key(record: WorldRecord, spec: BuiltinCampaignSpec) -> str:
    """Return a hash of the inputs of a trial that differ between the trials of a runner. Files are
    inputs by their content, and names of worlds and planners do not count."""
    assert spec.worlds.files is not None, "the entry of the world"
    planner, entry = spec.planners[0], spec.worlds.files[0]
    inputs = {
        "world": record.sha256,
        "known": [record.shortest_path_m, dict(record.published)],
        "mission": entry.model_dump(mode="json", exclude={"file", "name"}),
        "plugin": planner.plugin,
        "parameters": {key: _by_content(value) for key, value in planner.parameters.items()},
        "entries": {key: [one.name for one in getattr(spec, key)] for key in REMOVABLE},
        "timeout_s": spec.limits.timeout_s,
    }
    return hashlib.sha256(json.dumps(inputs, sort_keys=True, default=str).encode()).hexdigest()


def _by_content(value: Any) -> Any:
    if isinstance(value, (str, Path)) and os.path.isfile(value):
        return sha256_of(read_input(Path(value), SpecError))
    return value
