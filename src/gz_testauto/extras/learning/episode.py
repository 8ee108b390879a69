"""Episodes: trials whose commands the caller computes.

An episode is identical, bit by bit, to the trial of a campaign with the planner ``policy``.
"""

import json
import math
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from gz_testauto.base.errors import ResultsError, SpecError
from gz_testauto.base.json_file import read_json_object
from gz_testauto.base.observation import Snapshot, Twist2D
from gz_testauto.campaign.simulator import start_simulator, with_simulator
from gz_testauto.campaign.world_source import gather_worlds
from gz_testauto.extras.learning.policies.files import PolicyCard, TrainingCard
from gz_testauto.extras.learning.policies.planner import PolicyInterface
from gz_testauto.extras.learning.spec import POLICY, EnvironmentCampaignSpec
from gz_testauto.extras.learning.terms import EpisodeRules, Transition
from gz_testauto.metrics.interface import measure
from gz_testauto.planners.timed import in_message_precision
from gz_testauto.results.comparability import flatten, list_differences, refuse_differences
from gz_testauto.results.directory import reporting_disk, write_atomically
from gz_testauto.simulators.interface import Simulation
from gz_testauto.spec.campaign import PlannerSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.checks import check_trials
from gz_testauto.trial.executor import TrialResult
from gz_testauto.trial.lockstep import LockstepExecutor, TrialRobot
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.plan import PreparedCampaign
from gz_testauto.trial.termination import TrialEnd
from gz_testauto.trial.testbed import BuiltinTestBed, read_body
from gz_testauto.trial.trial import Trial
from gz_testauto.worlds.record import WorldRecord
from gz_testauto.worlds.source import missions_of

MOST_REPETITIONS = 2**20


class PreparedEnvironment:
    """The campaign of an environment with its worlds in ``folder``, which supports pickle."""

    def __init__(self, spec: EnvironmentCampaignSpec, folder: Path) -> None:
        """Raises ``SpecError`` for an invalid start or goal, and errors of the world source."""
        self.spec = spec
        _require_worlds_of(folder, spec)
        run_by = with_simulator(spec)
        self.bed = BuiltinTestBed(run_by, read_body(run_by))
        worlds = gather_worlds(run_by, self.bed.robot, folder)
        self.campaign = PreparedCampaign(self.bed, worlds, missions_of(run_by, folder))
        check_trials(self.bed, self.campaign.trials)
        self._from_easy_to_hard = self._indices_by_difficulty()

    @classmethod
    def of(
        cls,
        environment: "Union[str, Path, PreparedEnvironment]",
        worlds: Union[str, Path, None] = None,
    ) -> "PreparedEnvironment":
        """Prepare a YAML file, or return a prepared environment unchanged. ``worlds`` is the folder
        of the worlds, by default ``STEM_worlds`` next to the file."""
        if isinstance(environment, PreparedEnvironment):
            return environment
        file = Path(environment)
        folder = file.with_name(f"{file.stem}_worlds") if worlds is None else Path(worlds)
        return cls(load(file, EnvironmentCampaignSpec), folder)

    def interface(self) -> PolicyInterface:
        """Create the policy's interface of one agent."""
        environment = self.spec.environment
        terms = [term.named for term in environment.observations]
        return PolicyInterface(terms, environment.safety_filter)

    def rules(self) -> EpisodeRules:
        """Create the rewards and termination rules of one agent."""
        environment = self.spec.environment
        return EpisodeRules(
            [term.named for term in environment.rewards],
            [term.named for term in environment.terminations],
        )

    @property
    def learners(self) -> Tuple[int, ...]:
        """The indices of the first robot (0) and of the robots without a planner."""
        robot_indices = (
            index for index, robot in enumerate(self.spec.robots, 1) if not robot.planner
        )
        return (0, *robot_indices)

    def worlds_after(self, steps: int) -> Sequence[int]:
        """Return the indices of the worlds that can be drawn after ``steps`` control periods. With
        a curriculum, these are the easiest worlds, the easiest first."""
        curriculum, count = self.spec.environment.curriculum, len(self.campaign.worlds)
        if curriculum is None:
            return range(count)
        share = min(1.0, curriculum.share + (1.0 - curriculum.share) * steps / curriculum.steps)
        # Rounding errors must not add a world.
        return self._from_easy_to_hard[: max(1, math.ceil(share * count - 1e-9))]

    def _indices_by_difficulty(self) -> Sequence[int]:
        curriculum = self.spec.environment.curriculum
        if curriculum is None:
            return ()
        difficulties = [
            _difficulty_of(world, curriculum.criterion) for world in self.campaign.worlds
        ]
        return [int(index) for index in np.argsort(difficulties, kind="stable")]

    def card(self, kind: str, seed: int = 0, steps: int = 0) -> PolicyCard:
        return PolicyCard(
            kind=kind,
            observations=[
                {"term": term.term, **term.parameters}
                for term in self.spec.environment.observations
            ],
            safety_filter=self.spec.environment.safety_filter,
            training=TrainingCard(
                environment=self.spec.name, seed=seed, steps=steps, worlds=self.world_hashes
            ),
        )

    @property
    def world_hashes(self) -> List[str]:
        return sorted({world.sha256 for world in self.campaign.worlds})

    def trial(self, world: int, repetition: int = 0) -> Trial:
        """Return the trial of a world, counted from 0, or raise ``SpecError``."""
        if not 0 <= world < len(self.campaign.worlds):
            raise SpecError(
                f"campaign {self.spec.name}: world is {world}; it must be from 0 to "
                f"{len(self.campaign.worlds) - 1}"
            )
        if repetition < 0:
            raise SpecError(
                f"campaign {self.spec.name}: repetition is {repetition}; it must be at least 0"
            )
        record = self.campaign.worlds[world]
        mission = self.campaign.missions.of(record.name)
        numbers = self.spec.random_numbers(world, repetition)
        return Trial(record, mission, self._planner_entry, numbers, repetition)

    def drawn_trial(
        self, random: np.random.Generator, steps: int, options: Optional[Mapping[str, Any]]
    ) -> Trial:
        """Draw a trial after ``steps`` control periods of training.

        ``options`` can specify its ``world`` and ``repetition``.
        """
        requested = options or {}
        allowed = self.worlds_after(steps)
        world = allowed[int(random.integers(len(allowed)))]
        repetition = int(random.integers(MOST_REPETITIONS))
        return self.trial(
            int(requested.get("world", world)), int(requested.get("repetition", repetition))
        )

    @property
    def _planner_entry(self) -> PlannerSpec:
        planners = self.spec.planners
        return next((entry for entry in planners if entry.name == POLICY), planners[0])


WORLDS_OF = ".environment.json"  # suffix of the file with the specification of a folder of worlds


def _require_worlds_of(folder: Path, spec: EnvironmentCampaignSpec) -> None:
    """Require that ``folder`` contains the worlds of ``spec``, or is empty or missing.

    For new generated worlds, their inputs are stored in a file next to the folder. Raises
    ``ResultsError`` for the worlds of another environment, and ``SpecError`` for other content.
    """
    inputs = spec.model_dump(
        mode="json", include={"seed", "worlds", "robot", "robots", "goal", "actors"}
    )
    file = folder.with_name(folder.name + WORLDS_OF)
    if file.is_file() and folder.is_dir():  # otherwise removed or incomplete
        differences = list_differences(
            dict(flatten(read_json_object(file, ResultsError))), dict(flatten(inputs))
        )
        content = "worlds of another environment"
        remedy = "remove the folder, or specify another folder"
        refuse_differences(folder, content, differences, remedy)
        return
    if folder.is_dir() and any(folder.iterdir()):
        raise SpecError(
            f"{folder}: the folder is not empty, but generated worlds need an empty folder; "
            "specify another folder"
        )
    if spec.worlds.directory is None:
        with reporting_disk(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(file, json.dumps(inputs, indent=1, sort_keys=True).encode())


def _difficulty_of(world: WorldRecord, criterion: str) -> float:
    """Return a number that is larger for a harder world. Raise ``SpecError`` if it is unknown."""
    figures = world.shortest_path_m if criterion == "shortest_path_m" else world.difficulty
    if figures is None:
        raise SpecError(
            f"environment.curriculum: the {criterion} of world {world.name} ({world.path}) is "
            "unknown; generate the worlds with worlds.base and worlds.obstacles, or remove the "
            "curriculum"
        )
    if isinstance(figures, float):
        return figures
    value: Optional[float] = getattr(figures, criterion)
    if criterion == "density":
        return 0.0 if value is None else value
    return -math.inf if value is None else -value  # a world without a gap is easiest


class EpisodeRunner:
    def __init__(self, prepared: PreparedEnvironment) -> None:
        self._prepared = prepared
        self._executor = LockstepExecutor(prepared.bed, start_simulator)
        self._is_open = False  # the simulator starts with the first episode
        self._current: Optional[Episode] = None

    def begin(self, trial: Trial, every: bool = False) -> "Episode":
        """Start an episode, and stop the previous one, or raise ``SimulatorError``.

        With ``every``, the caller controls all robots without a planner.
        """
        if not self._is_open:
            self._executor.open()
            self._is_open = True
        self.end()
        self._current = Episode(self._prepared, self._executor, trial, every)
        return self._current

    def end(self) -> None:
        current, self._current = self._current, None
        if current is not None:
            current.close()

    def close(self) -> None:
        self.end()
        self._is_open = False
        self._executor.close()


class Agent:
    """A robot of an episode whose commands the caller computes.

    ``goal_is_new`` is True at the start, and after a step in which the robot received its next
    goal. A policy with memory must be reset then.
    """

    def __init__(
        self, prepared: PreparedEnvironment, trial_robot: TrialRobot, snapshot: Snapshot
    ) -> None:
        self._period_s = prepared.bed.spec.control_period_s
        self._robot = trial_robot
        self._interface, self._rules = prepared.interface(), prepared.rules()
        self._robot.observe(snapshot)
        self._observe(snapshot)
        self._command = Twist2D()
        self.goal_is_new = True
        self._begin_task()

    @property
    def verdict(self) -> Optional[TrialEnd]:
        return self._robot.verdict

    @property
    def time_s(self) -> float:
        return self._observation.time_s

    @property
    def terminated(self) -> bool:
        return self.verdict is not None and self.verdict.outcome.declaration.terminal

    @property
    def truncated(self) -> bool:
        """True if the robot was stuck or out of time, so that more rewards were possible."""
        return self.verdict is not None and not self.terminated

    def command(self, action: np.ndarray) -> None:
        """Set the action for the next control period, or raise ``ValueError``."""
        if self.verdict is None:
            self._command = self._interface.command(action, self._observation)

    def send_command(self, simulation: Simulation) -> None:
        if self.verdict is None:
            self._robot.command(self._command, simulation)
        else:
            self._robot.stop(simulation)

    def observe(self, snapshot: Snapshot) -> float:
        """Update the agent at the end of a control period, and return the reward of the period.
        After the end of its trial, the agent does not change, and the reward is 0."""
        if self.verdict is not None:
            return 0.0
        robot, before = self._robot, self._true_observation
        robot.observe(snapshot)
        self._observe(snapshot)
        after = self._true_observation
        outcome = None if self.verdict is None else self.verdict.outcome
        transition = Transition(before, after, self._command, self._period_s, outcome)
        reward = self._rules.reward(transition)
        if self.verdict is None:
            reason = self._rules.reason(transition)
            if reason is not None:
                robot.verdict = TrialEnd(Outcome.PLANNER_ABORTED, reason)
        self.goal_is_new = self.verdict is None and robot.task_is_new
        if self.goal_is_new:
            self._begin_task()
        else:
            self.vector = self._interface.encode(self._observation)
        return reward

    def result(self) -> TrialResult:
        """Return the result as a campaign stores it, after the end of the trial."""
        assert self.verdict is not None, "the trial has ended"
        return self._robot.result(math.nan)

    def _observe(self, snapshot: Snapshot) -> None:
        self._true_observation = in_message_precision(self._robot.true_observation(snapshot))
        self._observation = self._robot.estimated(self._true_observation)

    def _begin_task(self) -> None:
        task = self._robot.task
        self._interface.begin(task)
        self._rules.begin(task)
        self.vector = self._interface.encode(self._observation)


class Episode:
    """One trial that is executed step by step.

    ``agents`` are the robots whose commands the caller computes: the first robot and, with
    ``every``, all robots without a planner. The other robots use their planners.
    """

    def __init__(
        self,
        prepared: PreparedEnvironment,
        executor: LockstepExecutor,
        trial: Trial,
        every: bool = False,
    ) -> None:
        self._prepared, self.trial = prepared, trial
        self._period_s = prepared.bed.spec.control_period_s
        wants_objects = prepared.interface().encoder.wants_objects
        self._simulation, robots, self._actors = executor.load_trial(
            trial, show_objects=wants_objects
        )
        self._snapshot = self._simulation.snapshot()
        learners = prepared.learners if every else (0,)
        self.agents = tuple(Agent(prepared, robots[index], self._snapshot) for index in learners)
        self._other_robots = [robot for index, robot in enumerate(robots) if index not in learners]
        for robot in self._other_robots:
            robot.observe(self._snapshot)

    @property
    def has_ended(self) -> bool:
        return all(agent.verdict is not None for agent in self.agents)

    def step(self, *actions: np.ndarray) -> List[float]:
        """Execute one control period with an action for each agent, and return the rewards.

        Raises ``ValueError`` for an invalid action, and ``SimulatorError``.
        """
        assert not self.has_ended, "the episode has not ended"
        for agent, action in zip(self.agents, actions):
            agent.command(action)
        for agent in self.agents:
            agent.send_command(self._simulation)
        for robot in self._other_robots:
            robot.run_cycle(self._simulation, self._snapshot)
        self._snapshot = self._simulation.step(self._period_s)
        for robot in self._other_robots:
            robot.observe(self._snapshot)
        return [agent.observe(self._snapshot) for agent in self.agents]

    def info(self, agent: Agent) -> Dict[str, Any]:
        """Return Gymnasium's ``info`` of an agent."""
        info: Dict[str, Any] = {
            "world": self.trial.world.name,
            "repetition": self.trial.repetition,
            "time_s": agent.time_s,
            "goal_is_new": agent.goal_is_new,
        }
        if agent.verdict is not None:
            result, bed = self.result(agent), self._prepared.bed
            metrics = measure(result.recording, bed.metric_context, bed.metrics)
            info.update(outcome=result.outcome.value, detail=result.detail, metrics=metrics)
        return info

    def result(self, agent: Agent) -> TrialResult:
        return agent.result().with_values(self._actors.numbers)

    def close(self) -> None:
        self._actors.close()
