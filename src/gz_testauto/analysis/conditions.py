"""Compare the conditions of two campaigns."""

import re
from dataclasses import dataclass
from typing import FrozenSet, Iterator, List, Mapping, Tuple

from gz_testauto.results.comparability import WORLD_FILES
from gz_testauto.results.manifest import BITS, PATIENCE
from gz_testauto.results.store import LoadedCampaign

# The only field of ``worlds`` that the hashes of files, starts and goals do not cover.
RELEVANT_WORLDS_FIELD = "worlds.plugins"

_HARMLESS = re.compile(  # inputs that can differ; the simulator is compared by the manifest
    r"(name|seed|repetitions|simulator|worlds|planners|stop|stack\.metrics)\b"
    r"|metrics\.smallest_relevant\b"
    r"|planner (?!of robot )"
    r"|not followed: planners\b"
)

_CODE = ("code of ", "imported ")

# Metrics by the parameter on which they depend.
_DEPENDENT_METRICS: Mapping[str, Tuple[str, ...]] = {
    "metrics.safety_distance_m": ("safety", "danger_share"),
    "metrics.acceleration_cutoff_hz": (
        "comfort_mps2",
        "jerk_rms_mps3",
        "log_dimensionless_jerk",
    ),
    "metrics.barn_k": ("barn_score",),
}

_WALL_TIMES = frozenset(  # metrics that depend on the machine as much as on the planner
    ("cycle_mean_s", "cycle_p95_s", "cycle_p99_s", "cycle_max_s", "cycle_cpu_mean_s")
)


@dataclass(frozen=True)
class Conditions:
    """The differences between two campaigns, such as ``robot.max_linear_mps: 1.0, and 2.0``.

    ``reasons`` make their trials incomparable, and ``notes`` do not. ``without`` are the names of
    metrics that cannot be compared.
    """

    reasons: Tuple[str, ...]
    notes: Tuple[str, ...]
    without: FrozenSet[str]


SAME = Conditions((), (), frozenset())


def compare_conditions(first: LoadedCampaign, second: LoadedCampaign) -> Conditions:
    manifest, other_manifest = first.manifest, second.manifest
    reasons: List[str] = []
    notes: List[str] = []
    excluded_metrics: FrozenSet[str] = frozenset()
    imported_labels = [
        campaign.label for campaign in (first, second) if campaign.manifest.is_imported
    ]
    if imported_labels:
        notes.append(
            f"the trials of {' and '.join(imported_labels)} were imported, so robot, limits and "
            "goal are unknown"
        )
    else:
        for name, values in _different_inputs(manifest.inputs, other_manifest.inputs):
            text = f"{name}: {values[0]}, and {values[1]}"
            if name in _DEPENDENT_METRICS:
                excluded_metrics |= frozenset(_DEPENDENT_METRICS[name])
                notes.append(f"{text}; not compared: {', '.join(_DEPENDENT_METRICS[name])}")
            else:
                reasons.append(text)
    if (
        manifest.simulator
        and other_manifest.simulator
        and manifest.simulator != other_manifest.simulator
    ):
        reasons.append(f"simulator: {manifest.simulator}, and {other_manifest.simulator}")
    if manifest.gz_testauto != other_manifest.gz_testauto:
        notes.append(f"gz_testauto: {manifest.gz_testauto}, and {other_manifest.gz_testauto}")
    bits_versions = manifest.bits_version or 1, other_manifest.bits_version or 1
    if bits_versions[0] != bits_versions[1] and not imported_labels:
        notes.append(f"{BITS}: {bits_versions[0]}, and {bits_versions[1]}")
    if manifest.platform != other_manifest.platform:
        excluded_metrics |= _WALL_TIMES
        notes.append("the machines differ; cycle times are not compared")
    return Conditions(tuple(reasons), tuple(notes), excluded_metrics)


def _different_inputs(
    inputs: Mapping[str, str], other_inputs: Mapping[str, str]
) -> Iterator[Tuple[str, Tuple[str, str]]]:
    for name in sorted({*inputs, *other_inputs}):
        is_relevant = name == RELEVANT_WORLDS_FIELD or not _HARMLESS.match(name)
        if not is_relevant or name in PATIENCE or name.startswith(_CODE):
            continue
        values = inputs.get(name, "null"), other_inputs.get(name, "null")
        if name.startswith(WORLD_FILES) and "null" in values:
            continue  # only the worlds of one campaign refer to this file
        if values[0] != values[1]:
            yield name, (_describe_value(values[0]), _describe_value(values[1]))


def _describe_value(value: str) -> str:
    if value == "null":
        return "nothing"
    return "another file" if value.startswith("sha256:") else value
