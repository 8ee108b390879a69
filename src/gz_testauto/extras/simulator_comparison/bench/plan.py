"""The planned runs of a comparison of simulators, in the order of execution."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Tuple

import numpy as np
from lxml import etree

from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.xml_file import parse_xml
from gz_testauto.extras.simulator_comparison.bench.run_maneuver import ManeuverRequest
from gz_testauto.extras.simulator_comparison.bench.store import HALF, BenchDirectory
from gz_testauto.extras.simulator_comparison.maneuvers import (
    PUSH,
    BenchRobotSpec,
    ManeuverSpec,
    compute_commands,
    create_box,
    draw_start,
    parallel_starts,
    recorded_commands,
    require_space,
    spawn_height_m,
)
from gz_testauto.extras.simulator_comparison.measures.load import FIVE, IDLE, LOAD, ONE
from gz_testauto.extras.simulator_comparison.recordings.read import read_recordings
from gz_testauto.extras.simulator_comparison.spec import BenchSpec, EntrySpec
from gz_testauto.extras.simulator_comparison.steps import physics_step_s, takes_step
from gz_testauto.extras.simulator_comparison.terrain import Terrain, make_terrain, write_world
from gz_testauto.extras.simulator_comparison.terrain.kinds import FlatTerrain
from gz_testauto.results.directory import reporting_disk
from gz_testauto.sampling.seeds import child_seed
from gz_testauto.sdf.robot import RobotModel, read_robot
from gz_testauto.simulators import SIMULATORS, chosen_simulator
from gz_testauto.simulators.interface import PlacedRobot

EVERY_STEP = 0.0  # ``update_rate`` in SDF of a sensor that measures in every physics step

SIMULATION = "simulation"

LOADS = {IDLE: 0, ONE: 1, FIVE: 5}  # number of moving robots by case

LOAD_TERRAIN = FlatTerrain(kind="flat", name=LOAD, friction=1.0, size_m=40.0, pixels=17)

LOAD_DRIVE = ManeuverSpec.model_validate(
    {"name": "load", "kind": "circle", "duration_s": 1.0, "linear_mps": 0.5, "angular_radps": 0.5}
)
"""Maneuver that leads robots into a circle on which they stay."""

HALVED = ("straight", "circle", "s_curve")

HALVED_REPETITIONS = 2


def supported_loads(entry: EntrySpec) -> List[str]:
    simulator = SIMULATORS.get(chosen_simulator(str(entry.simulator)))
    max_robots = max(LOADS.values()) if simulator.several_robots else 1
    return [name for name, robots in LOADS.items() if robots <= max_robots]


@dataclass(frozen=True)
class PlannedRun:
    """One run of a maneuver in one simulator, if ``halved`` at half its physics step."""

    entry: str
    terrain: str
    maneuver: str
    repetition: int
    halved: bool = False

    @property
    def case(self) -> str:
        return f"{self.terrain}/{self.maneuver}"

    @property
    def stored_case(self) -> str:
        return self.case + (HALF if self.halved else "")

    @property
    def is_load(self) -> bool:
        """True for a measurement of cost instead of a maneuver."""
        return self.terrain == LOAD

    def __str__(self) -> str:
        half = " at half the step" if self.halved else ""
        return f"{self.entry}: {self.case}, repetition {self.repetition + 1}{half}"


@dataclass(frozen=True)
class RunGroup:
    """Runs of one simulator on one terrain, which are executed without interruption."""

    entry: str
    terrain: str
    runs: Tuple[PlannedRun, ...]


class Plan:
    def __init__(self, spec: BenchSpec) -> None:
        assert spec.robot is not None, "validated by the specification"
        self.spec, self._bench_robot = spec, spec.robot
        self.terrains: Dict[str, Terrain] = {
            kind.name: make_terrain(kind, spec.seed) for kind in spec.terrains
        }
        if spec.measure_load:
            self.terrains[LOAD] = make_terrain(LOAD_TERRAIN, spec.seed)
        self.commands: Dict[str, np.ndarray] = {
            maneuver.name: self._maneuver_commands(maneuver) for maneuver in spec.maneuvers
        }
        self._written: Dict[Tuple[Path, str], Path] = {}
        (self._robot,) = read_bench_robot(spec.robot)
        count = max(LOADS.values()) if spec.measure_load else 1
        self._crowd = read_bench_robot(spec.robot, count, always=False)
        for case in spec.cases:
            terrain, _, maneuver = case.partition("/")
            require_space(case, self.commands[maneuver], self._robot, self.terrains[terrain])

    def rounds(self) -> Iterator[List[RunGroup]]:
        """Yield the groups of all simulators for each repetition and terrain."""
        # simulators alternate, so that other load of the machine affects all of them
        for repetition in range(self.spec.repetitions):
            for terrain in self.terrains:
                groups = [
                    RunGroup(
                        entry.name,
                        terrain,
                        tuple(self._planned_runs(entry.name, terrain, repetition)),
                    )
                    for entry in self.spec.simulated
                ]
                yield [group for group in groups if group.runs]

    def request(self, planned: PlannedRun, directory: BenchDirectory) -> ManeuverRequest:
        """Write the world of a planned run and return its request."""
        terrain = self.terrains[planned.terrain]
        step_s = self.step_s(self.spec.entry(planned.entry))
        required_s = step_s / 2 if planned.halved else step_s
        world = self._world_file(terrain, directory, required_s)
        if planned.is_load:
            return self._load_request(planned, world)
        start = draw_start(planned.case, planned.repetition, self.spec.seed)
        return ManeuverRequest(
            source=str(planned),
            world=world,
            robots=(PlacedRobot(self._robot, start),),
            ground_m=(spawn_height_m(terrain, self._robot, start),),
            commands=self.commands[planned.maneuver],
            seed=child_seed(self.spec.seed, SIMULATION, planned.case, planned.repetition),
            step_s=required_s if planned.halved else None,
            box=create_box(self._robot, start) if self._pushes_box(planned) else None,
        )

    def step_s(self, entry: EntrySpec) -> float:
        assert entry.simulator is not None, "a simulated entry"
        return physics_step_s(entry.simulator, entry.options, self.spec.step_s)

    def options(self, entry: EntrySpec, halved: bool) -> Mapping[str, Any]:
        assert entry.simulator is not None, "a simulated entry"
        if not (halved and takes_step(entry.simulator)):
            return entry.options
        return {**entry.options, "step_s": self.step_s(entry) / 2}

    def _pushes_box(self, planned: PlannedRun) -> bool:
        return any(m.kind == PUSH for m in self.spec.maneuvers if m.name == planned.maneuver)

    def _maneuver_commands(self, maneuver: ManeuverSpec) -> np.ndarray:
        if maneuver.command is None:
            return compute_commands(maneuver, self._bench_robot)
        recording = self.spec.entry(maneuver.command.entry).recording
        assert recording is not None, "validated by the specification"
        repetitions = read_recordings(recording)[maneuver.command.case]
        recorded = repetitions[maneuver.command.repetition].command
        if recorded is None:
            raise SpecError(
                f"maneuver {maneuver.name}: the recording of {maneuver.command.case} contains no "
                "velocity commands; specify another case"
            )
        return recorded_commands(recorded)

    def _planned_runs(self, entry: str, terrain: str, repetition: int) -> List[PlannedRun]:
        if terrain == LOAD:
            names = supported_loads(self.spec.entry(entry))
            return [PlannedRun(entry, LOAD, name, repetition) for name in names]
        maneuvers = [m for m in self.spec.maneuvers if f"{terrain}/{m.name}" in self.spec.cases]
        halved = [m for m in maneuvers if self._is_halved(terrain, m, repetition)]
        return [
            *(PlannedRun(entry, terrain, m.name, repetition) for m in maneuvers),
            *(PlannedRun(entry, terrain, m.name, repetition, halved=True) for m in halved),
        ]

    def _is_halved(self, terrain: str, maneuver: ManeuverSpec, repetition: int) -> bool:
        return (
            self.spec.half_step
            and self.terrains[terrain].relief_m == 0.0
            and maneuver.kind in HALVED
            and repetition < HALVED_REPETITIONS
        )

    def _world_file(self, terrain: Terrain, directory: BenchDirectory, step_s: float) -> Path:
        folder = directory.worlds(step_s)
        if (folder, terrain.name) not in self._written:
            with reporting_disk(folder):
                self._written[folder, terrain.name] = write_world(terrain, folder, step_s)
        return self._written[folder, terrain.name]

    def _load_request(self, planned: PlannedRun, world: Path) -> ManeuverRequest:
        robots = self._crowd[: LOADS[planned.maneuver]]
        terrain, commands = self.terrains[LOAD], compute_commands(LOAD_DRIVE, self._bench_robot)
        circle = np.repeat(commands[-1:], 400, axis=0)  # more than one full circle
        starts: List[Pose2D] = []
        if robots:
            starts = parallel_starts(len(robots), planned.case, circle, robots[0], terrain)
        placed_robots = tuple(PlacedRobot(robot, start) for robot, start in zip(robots, starts))
        seed = child_seed(self.spec.seed, SIMULATION, planned.case, planned.repetition)
        return ManeuverRequest(
            str(planned), world, placed_robots, (0.0,) * len(placed_robots), commands, seed
        )


def read_bench_robot(
    spec: BenchRobotSpec, count: int = 1, always: bool = True
) -> Tuple[RobotModel, ...]:
    """Return ``count`` copies of the robot with different names. With ``always`` the IMU measures
    in every physics step."""
    names = [spec.name, *(f"{spec.name}_{number}" for number in range(2, count + 1))]
    robots = tuple(read_robot(spec.model, name, lidar=spec.lidar) for name in names)
    for field, component in (("imu", "IMU (<sensor type='imu'>)"), ("drive", "drive plugin")):
        if getattr(robots[0], field) is None:
            raise SpecError(
                f"robot.model: {robots[0].path} has no {component}; add it to the model"
            )
    # means over 10 ms need samples of all steps, for any update rate in the model
    return tuple(map(_with_imu_in_every_step, robots)) if always else robots


def _with_imu_in_every_step(robot: RobotModel) -> RobotModel:
    assert robot.imu is not None, "validated before"
    root = parse_xml(robot.sdf.encode("utf-8"))
    for sensor in root.iter("sensor"):
        if sensor.get("type") == "imu" and sensor.get("name") == robot.imu.sensor:
            rate = sensor.find("update_rate")
            rate = etree.SubElement(sensor, "update_rate") if rate is None else rate
            rate.text = str(EVERY_STEP)
    sdf = etree.tostring(root, encoding="unicode")
    return replace(robot, sdf=sdf, imu=replace(robot.imu, update_rate_hz=EVERY_STEP))
