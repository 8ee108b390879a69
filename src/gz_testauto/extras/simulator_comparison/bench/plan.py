"""What is to be driven, in which order.

Owns the list of jobs of a bench and what each of them is for a simulator. Entries take turns:
repetition by repetition and terrain by terrain, so that a busy spell of the machine hits them all.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Tuple

import numpy as np

from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.extras.simulator_comparison.bench.robots import read_bench_robot
from gz_testauto.extras.simulator_comparison.bench.run_maneuver import ManeuverRequest
from gz_testauto.extras.simulator_comparison.bench.store import HALF, BenchDirectory
from gz_testauto.extras.simulator_comparison.maneuvers.box import create_box
from gz_testauto.extras.simulator_comparison.maneuvers.commands import (
    compute_commands,
    recorded_commands,
)
from gz_testauto.extras.simulator_comparison.maneuvers.spec import PUSH, ManeuverSpec
from gz_testauto.extras.simulator_comparison.maneuvers.starts import (
    draw_start,
    parallel_starts,
    require_space,
    spawn_height_m,
)
from gz_testauto.extras.simulator_comparison.measures.load import FIVE, IDLE, LOAD, ONE
from gz_testauto.extras.simulator_comparison.recordings.read import read_drives
from gz_testauto.extras.simulator_comparison.spec import BenchSpec, EntrySpec
from gz_testauto.extras.simulator_comparison.steps import physics_step_s, takes_step
from gz_testauto.extras.simulator_comparison.terrain import Terrain, make_terrain, write_world
from gz_testauto.extras.simulator_comparison.terrain.flat import FlatTerrain
from gz_testauto.results.directory import reporting_disk
from gz_testauto.sampling.seeds import child_seed
from gz_testauto.simulators import SIMULATORS, chosen_simulator
from gz_testauto.simulators.interface import PlacedRobot

SIMULATION = "simulation"
"""Path of the simulators' seeds."""

LOADS = {IDLE: 0, ONE: 1, FIVE: 5}
"""Robots that drive while load is measured."""

LOAD_TERRAIN = FlatTerrain(name=LOAD, friction=1.0, size_m=40.0, pixels=17)

LOAD_DRIVE = ManeuverSpec.model_validate(
    {"name": "load", "kind": "circle", "duration_s": 1.0, "linear_mps": 0.5, "angular_radps": 0.5}
)
"""Commands with which robots come into a circle that they stay on."""

HALVED = ("straight", "circle", "s_curve")
"""Kinds of drive that are repeated at half the physics step."""

HALVED_REPETITIONS = 2


@dataclass(frozen=True)
class PlannedRun:
    """One drive of one entry; ``halved`` at half its physics step."""

    entry: str
    terrain: str
    drive: str
    repetition: int
    halved: bool = False

    @property
    def case(self) -> str:
        """As it is called in the findings."""
        return f"{self.terrain}/{self.drive}"

    @property
    def stored_case(self) -> str:
        """As it is called on the disk."""
        return self.case + (HALF if self.halved else "")

    @property
    def is_load(self) -> bool:
        """Whether it measures load, and nothing else."""
        return self.terrain == LOAD

    def __str__(self) -> str:
        half = " at half the step" if self.halved else ""
        return f"{self.entry}: {self.case}, repetition {self.repetition + 1}{half}"


@dataclass(frozen=True)
class RunGroup:
    """What one entry does before the next one's turn: jobs on one terrain."""

    entry: str
    terrain: str
    runs: Tuple[PlannedRun, ...]


class Plan:
    """A bench made ready: its robot read, its terrains made, its commands worked out."""

    def __init__(self, spec: BenchSpec) -> None:
        """Raises ``SpecError`` for what cannot be driven, and what files raise."""
        assert spec.robot is not None, "the specification says so where there are simulators"
        self.spec = spec
        self.terrains: Dict[str, Terrain] = {
            one.name: make_terrain(one, spec.seed) for one in spec.terrains
        }
        if spec.load:
            self.terrains[LOAD] = make_terrain(LOAD_TERRAIN, spec.seed)
        self.commands: Dict[str, np.ndarray] = {
            drive.name: self._commands(drive) for drive in spec.drives
        }
        self._written: Dict[Tuple[Path, str], Path] = {}
        (self._robot,) = read_bench_robot(spec.robot)
        count = max(LOADS.values()) if spec.load else 1
        self._crowd = read_bench_robot(spec.robot, count, always=False)
        for case in spec.cases:
            terrain, _, drive = case.partition("/")
            require_space(case, self.commands[drive], self._robot, self.terrains[terrain])

    def rounds(self) -> Iterator[List[RunGroup]]:
        """All there is to do, in order: of one terrain and repetition, each entry's turn."""
        for repetition in range(self.spec.repetitions):
            for terrain in self.terrains:
                groups = [
                    RunGroup(
                        entry.name, terrain, tuple(self._runs(entry.name, terrain, repetition))
                    )
                    for entry in self.spec.simulated
                ]
                yield [group for group in groups if group.runs]

    def request(self, planned: PlannedRun, directory: BenchDirectory) -> ManeuverRequest:
        """What a job is for a simulator; writes its world. Raises ``ResultsError`` when the disk
        refuses."""
        terrain = self.terrains[planned.terrain]
        step_s = self.step_s(self.spec.entry(planned.entry))
        asked_s = step_s / 2 if planned.halved else step_s
        world = self._world(terrain, directory, asked_s)
        if planned.is_load:
            return self._load_request(planned, world)
        start = draw_start(planned.case, planned.repetition, self.spec.seed)
        return ManeuverRequest(
            source=str(planned),
            world=world,
            robots=(PlacedRobot(self._robot, start),),
            ground_m=(spawn_height_m(terrain, self._robot, start),),
            commands=self.commands[planned.drive],
            seed=child_seed(self.spec.seed, SIMULATION, planned.case, planned.repetition),
            step_s=asked_s if planned.halved else None,
            box=create_box(self._robot, start) if self._pushes(planned) else None,
        )

    def step_s(self, entry: EntrySpec) -> float:
        """The physics step of an entry: its option's, or the worlds'."""
        assert entry.simulator is not None, "asked of simulators"
        return physics_step_s(entry.simulator, entry.options, self.spec.step_s)

    def options(self, entry: EntrySpec, halved: bool) -> Mapping[str, Any]:
        """What an entry's simulator is opened with."""
        assert entry.simulator is not None, "asked of simulators"
        if not (halved and takes_step(entry.simulator)):
            return entry.options
        return {**entry.options, "step_s": self.step_s(entry) / 2}

    # inside

    def _pushes(self, planned: PlannedRun) -> bool:
        return any(one.kind == PUSH for one in self.spec.drives if one.name == planned.drive)

    def _commands(self, drive: ManeuverSpec) -> np.ndarray:
        assert self.spec.robot is not None, "looked at before"
        if drive.command is None:
            return compute_commands(drive, self.spec.robot)
        recording = self.spec.entry(drive.command.entry).recording
        assert recording is not None, "the specification says so"
        recorded = read_drives(recording)[drive.command.case][drive.command.repetition].command
        if recorded is None:
            raise SpecError(f"drive {drive.name}: {drive.command.case} has no commands")
        return recorded_commands(recorded)

    def _runs(self, entry: str, terrain: str, repetition: int) -> List[PlannedRun]:
        if terrain == LOAD:
            most = max(LOADS.values()) if _takes_several(self.spec.entry(entry)) else 1
            drives_of_load = [drive for drive, robots in LOADS.items() if robots <= most]
            return [PlannedRun(entry, LOAD, drive, repetition) for drive in drives_of_load]
        drives = {drive.name: drive for drive in self.spec.drives}
        runs = []
        for case in self.spec.cases:
            if case.startswith(f"{terrain}/"):
                name = case.partition("/")[2]
                runs.append(PlannedRun(entry, terrain, name, repetition))
                if self._is_halved(terrain, drives[name], repetition):
                    runs.append(PlannedRun(entry, terrain, name, repetition, halved=True))
        return sorted(runs, key=lambda planned: planned.halved)

    def _is_halved(self, terrain: str, drive: ManeuverSpec, repetition: int) -> bool:
        return (
            self.spec.half_step
            and self.terrains[terrain].relief_m == 0.0
            and drive.kind in HALVED
            and repetition < HALVED_REPETITIONS
        )

    def _world(self, terrain: Terrain, directory: BenchDirectory, step_s: float) -> Path:
        folder = directory.worlds(step_s)
        if (folder, terrain.name) not in self._written:
            with reporting_disk(folder):
                self._written[folder, terrain.name] = write_world(terrain, folder, step_s)
        return self._written[folder, terrain.name]

    def _load_request(self, planned: PlannedRun, world: Path) -> ManeuverRequest:
        assert self.spec.robot is not None, "looked at before"
        robots = self._crowd[: LOADS[planned.drive]]
        terrain, commands = self.terrains[LOAD], compute_commands(LOAD_DRIVE, self.spec.robot)
        circle = np.repeat(commands[-1:], 400, axis=0)  # once round, and more
        starts: List[Pose2D] = []
        if robots:
            starts = parallel_starts(len(robots), planned.case, circle, robots[0], terrain)
        load_placed = tuple(PlacedRobot(robot, start) for robot, start in zip(robots, starts))
        seed = child_seed(self.spec.seed, SIMULATION, planned.case, planned.repetition)
        return ManeuverRequest(
            str(planned), world, load_placed, (0.0,) * len(load_placed), commands, seed
        )


def _takes_several(entry: EntrySpec) -> bool:
    """Whether an entry's simulator has several robots in a world."""
    assert entry.simulator is not None, "asked of simulators"
    return bool(SIMULATORS.get(chosen_simulator(entry.simulator)).several_robots)
