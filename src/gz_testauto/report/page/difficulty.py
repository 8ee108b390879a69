"""Compute success against the difficulty of a world. The figures of difficulty come from a
``worlds.json``, and from the numbers that a benchmark publishes."""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from gz_testauto.analysis.success_curve import SuccessCurve, success_curve
from gz_testauto.base.errors import GzTestautoError
from gz_testauto.report.names import published_heading
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.records import CampaignResults
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.worlds.manifest import MANIFEST, read_worlds
from gz_testauto.worlds.mission_file import StoredMission, read_missions
from gz_testauto.worlds.record import WorldRecord


class Figure(NamedTuple):
    """A figure of the difficulty of worlds, such as a published number, with the factor that
    converts it to the shown unit."""

    key: str
    heading: str
    unit: str
    factor: float = 1.0
    decimals: int = 2


SHORTEST_PATH = Figure("shortest_path_m", "shortest path", "m", 1.0, 1)
FIGURES = (
    Figure("density", "density of obstacles", "%", 100.0, 1),
    Figure("mean_clearance_m", "mean clearance", "m"),
    Figure("narrowest_gap_m", "narrowest gap", "m"),
    Figure("average_visibility_m", "average visibility", "m"),
    Figure("dispersion", "dispersion", ""),
    Figure("characteristic_dimension_m", "characteristic dimension", "m"),
    Figure("tortuosity", "tortuosity", ""),
    SHORTEST_PATH,
)

Values = List[Optional[float]]


def figures_of_worlds(
    directory: CampaignDirectory,
    spec: Optional[CampaignSpec],
    worlds: Sequence[WorldRecord],
    problems: List[str],
) -> Dict[Figure, Values]:
    """Return the values of each figure in the order of ``worlds``, None if unknown. Figures without
    a value are omitted. Messages about unreadable files are appended to ``problems``."""
    manifest = _worlds_by_hash(directory, spec, problems)
    drawn: Dict[str, StoredMission] = {}
    try:
        drawn = {mission.world: mission for mission in read_missions(directory.worlds)[1]}
    except GzTestautoError as error:
        problems.append(f"the difficulty of missions is unknown: {error}")
    all_values: Dict[Figure, Values] = {}
    for figure in FIGURES:
        all_values[figure] = [
            _figure_value(figure, drawn.get(world.name, manifest.get(world.sha256, world)))
            for world in worlds
        ]
    for name in dict.fromkeys(name for world in worlds for name in world.published):
        published_values = [world.published.get(name) for world in worlds]
        values = [
            float(number) if isinstance(number, (int, float)) else None
            for number in published_values
        ]
        is_count = all(number is None or number.is_integer() for number in values)
        heading, unit = published_heading(name)
        figure = Figure(f"published.{name}", heading, unit, 1.0, 0 if is_count else 2)
        all_values[figure] = values
    return {
        figure: values
        for figure, values in all_values.items()
        if any(value is not None for value in values)
    }


def success_curves(results: CampaignResults, values: Values) -> List[Optional[SuccessCurve]]:
    # selected trials do not represent all worlds
    if results.selection:
        return [None] * len(results.planners)
    results_of_trials: Dict[Tuple[str, str], List[bool]] = {}
    for record in results.without_copies.trials:
        if record.outcome.valid:
            results_of_trials.setdefault((record.planner, record.world), []).append(
                record.completed
            )
    known_worlds = [
        (world.name, value)
        for world, value in zip(results.worlds, values)
        if value is not None and world.name not in results.copies
    ]
    return [
        success_curve(
            [value for _, value in known_worlds],
            [sum(results_of_trials.get((planner, world), ())) for world, _ in known_worlds],
            [len(results_of_trials.get((planner, world), ())) for world, _ in known_worlds],
        )
        for planner in results.planners
    ]


def _worlds_by_hash(
    directory: CampaignDirectory, spec: Optional[CampaignSpec], problems: List[str]
) -> Dict[str, WorldRecord]:
    folders = [directory.worlds]
    if spec is not None and spec.worlds.directory is not None:
        folders.append(spec.worlds.directory)
    for folder in folders:
        if (folder / MANIFEST).is_file():
            try:
                return {world.sha256: world for world in read_worlds(folder)}
            except GzTestautoError as error:
                problems.append(f"the difficulty of worlds is unknown: {error}")
    return {}


def _figure_value(figure: Figure, world: Union[WorldRecord, StoredMission]) -> Optional[float]:
    holder: Any = world if figure is SHORTEST_PATH else world.difficulty
    value = None if holder is None else getattr(holder, figure.key)
    return None if value is None else float(value)
