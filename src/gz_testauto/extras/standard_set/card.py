"""The score card of one planner on the standard set, and its experiment ID.

A card is a JSON file with everything on which the results depend, and the results. The experiment
ID is a hash of exactly these fields. It contains no path, no time and nothing about the machine;
those are in the field ``about``, which is not hashed.
"""

import hashlib
import json
import math
import os
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

from gz_testauto.analysis.intervals import Estimate, success_rate
from gz_testauto.analysis.repeatability import recording_bits
from gz_testauto.base.errors import ResultsError
from gz_testauto.base.json_file import finite_or_none, read_json_object, validate_as
from gz_testauto.extras.standard_set.classes import StandardSet, chosen_classes
from gz_testauto.planners import PLANNERS
from gz_testauto.results.comparability import SHA256, file_sha256
from gz_testauto.results.directory import CampaignDirectory, write_atomically
from gz_testauto.results.manifest import campaign_inputs
from gz_testauto.results.recordings import read_trajectory
from gz_testauto.results.store import LoadedCampaign
from gz_testauto.spec.campaign import BuiltinCampaignSpec, BuiltinPlannerSpec
from gz_testauto.trial.outcome import Outcome

FORMAT = 2
BITS = "bits"
SHOWN_METRICS = ("spl", "time_s", "clearance_min_m")
CAMPAIGN_FILE = "campaign file"
WORLD_FILES = "worlds.directory/"
"""Prefix of the files of a directory of worlds, of which a class can use a part."""
DIGITS = 12  # hexadecimal digits in an experiment ID


@dataclass(frozen=True)
class CardTrial:
    """The result of one trial; a value that the recording does not determine is None.

    ``bits`` is a hash of the recorded trajectory, empty for an invalid trial.
    """

    world_sha256: str
    outcome: Outcome
    bits: str
    metrics: Mapping[str, Optional[float]]

    def __post_init__(self) -> None:
        for name, value in self.metrics.items():
            if value is not None and not math.isfinite(value):
                raise ValueError(f"{name} is {value}; it must be a finite number or null")

    @property
    def is_valid(self) -> bool:
        return self.outcome.valid


@dataclass(frozen=True)
class ClassResult:
    """The results of a planner in a scenario class of the set, by world.

    ``planned`` is the number of worlds of the class. ``files`` are hashes and descriptions of the
    inputs.
    """

    planned: int
    files: Mapping[str, str]
    trials: Mapping[str, CardTrial]

    @property
    def valid(self) -> List[CardTrial]:
        return [trial for trial in self.trials.values() if trial.is_valid]


@dataclass(frozen=True)
class PlannerIdentity:
    """A planner with its parameters, in which hashes replace files, and hashes of its code."""

    name: str
    plugin: str
    parameters: Mapping[str, Any]
    files: Mapping[str, str]


@dataclass(frozen=True)
class ScoreCard:
    """The results of one planner on the standard set.

    ``versions`` are those of bits (``gz_testauto.BITS_VERSION``), Python, libraries and the
    simulator. ``about`` describes this package, the machine and the run, and has no influence on
    the ID.
    """

    format: int
    set_version: int
    planner: PlannerIdentity
    versions: Mapping[str, str]
    classes: Mapping[str, ClassResult]
    about: Mapping[str, Any] = field(default_factory=dict)

    def id_of(self, standard: StandardSet) -> str:
        """Return the experiment ID, for example ``std1-134w10-0123456789ab``.

        It has the version of the set, the numbers of the classes in the set, ``w`` and the largest
        number of worlds if a class is incomplete, and a hash.
        """
        digits = "".join(
            str(number) for number, name in enumerate(standard.classes, 1) if name in self.classes
        )
        subset = f"w{self.most_worlds}" if self.is_subset else ""
        return f"std{self.set_version}-{digits}{subset}-{self.digest[:DIGITS]}"

    @property
    def digest(self) -> str:
        """The SHA-256 of all fields except ``about``, in a canonical form."""
        content = _json_content(self)
        del content["about"]
        text = json.dumps(content, sort_keys=True, ensure_ascii=True, allow_nan=False)
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def part(self, names: Optional[Sequence[str]], count: Optional[int]) -> "ScoreCard":
        """Return the card of the first ``count`` worlds of the classes ``names``, by default all.

        Raises ``SpecError`` for a class that the card does not have.
        """
        results = {name: self.classes[name] for name in chosen_classes(names, self.classes)}
        classes = {
            name: replace(result, trials=dict(list(result.trials.items())[:count]))
            for name, result in results.items()
        }
        return replace(self, classes=classes)

    @property
    def is_subset(self) -> bool:
        return any(len(result.trials) < result.planned for result in self.classes.values())

    @property
    def most_worlds(self) -> int:
        """The largest number of worlds of a class that ran."""
        return max((len(result.trials) for result in self.classes.values()), default=0)


def success(trials: List[CardTrial]) -> Estimate:
    """Return the success rate of the valid trials."""
    valid = [trial for trial in trials if trial.is_valid]
    return success_rate(sum(trial.outcome.success for trial in valid), len(valid))


@dataclass(frozen=True)
class ClassRun:
    """The finished campaign of one planner in one scenario class."""

    file: Path
    spec: BuiltinCampaignSpec
    loaded: LoadedCampaign
    directory: Path


def class_result(run: ClassRun, planned: int, count: Optional[int]) -> ClassResult:
    loaded = run.loaded
    hashes = {world.name: world.sha256 for world in loaded.results.worlds}
    trajectories = CampaignDirectory(run.directory).trajectories
    trials = {}
    for record in loaded.results.trials:
        if count is not None and record.world_index >= count:
            continue
        is_valid = record.outcome.valid
        bits = recording_bits(read_trajectory(trajectories / record.trajectory)) if is_valid else ""
        metrics = {name: finite_or_none(record.metrics.get(name)) for name in SHOWN_METRICS}
        trials[record.world] = CardTrial(
            hashes[record.world], record.outcome, bits, metrics if is_valid else {}
        )
    return ClassResult(planned, class_files(run.file, run.spec, loaded.manifest.inputs), trials)


def planner_identity(planner: BuiltinPlannerSpec, inputs: Mapping[str, str]) -> PlannerIdentity:
    parameters = {name: _hash_if_file(value) for name, value in planner.parameters.items()}
    is_of_package = PLANNERS.get(planner.plugin).__module__.startswith("gz_testauto.")
    files = {
        name: value
        for name, value in inputs.items()
        if _is_of_planner(name) and not (is_of_package and _is_code(name))
    }
    return PlannerIdentity(planner.name, planner.plugin, parameters, files)


def versions_of(manifest: Mapping[str, Any]) -> Dict[str, str]:
    simulator = manifest["simulator"] or {}
    return {
        BITS: str(manifest["bits_version"]),
        "python": str(manifest["python"]),
        **{name: str(version) for name, version in manifest["libraries"].items()},
        f"simulator {simulator.get('name', '')}": str(simulator.get("version", "")),
    }


def class_files(file: Path, spec: BuiltinCampaignSpec, inputs: Mapping[str, str]) -> Dict[str, str]:
    """Return the inputs of a scenario class, by name, from the ``inputs`` of its manifest.

    The hash of the campaign file replaces the fields of the campaign. Inputs of the planner, code
    of this package and files of a directory of worlds are omitted.
    """
    fields = {name for name, value in campaign_inputs(spec).items() if not value.startswith(SHA256)}
    return {
        CAMPAIGN_FILE: SHA256 + file_sha256(file),
        **{
            name: value
            for name, value in inputs.items()
            if name not in fields
            and not _is_of_planner(name)
            and not _is_code(name)
            and not name.startswith(WORLD_FILES)
        },
    }


def _is_of_planner(name: str) -> bool:
    return name.startswith(("planner ", "code of planner ", "planners["))  # see results/inputs.py


def _is_code(name: str) -> bool:
    return name.startswith("code of ")


def _hash_if_file(value: Any) -> Any:
    is_file = isinstance(value, str) and os.path.isabs(value) and os.path.isfile(value)
    return SHA256 + file_sha256(Path(value)) if is_file else value


def _json_content(card: ScoreCard) -> Dict[str, Any]:
    content = asdict(card)
    for result in content["classes"].values():
        for trial in result["trials"].values():
            trial["outcome"] = trial["outcome"].value
    return content


def card_bytes(card: ScoreCard, standard: StandardSet) -> bytes:
    """Return the content of the file of a card, with one line per trial."""
    content = _json_content(card)
    classes = content.pop("classes")
    head = json.dumps({"id": card.id_of(standard), **content}, indent=1, ensure_ascii=False)
    return (  # the head without its closing brace
        head[:-2] + ',\n "classes": {\n' + ",\n".join(_class_lines(classes)) + "\n }\n}\n"
    ).encode()


def _class_lines(classes: Mapping[str, Any]) -> Iterator[str]:
    for name, result in classes.items():
        rows = ",\n".join(
            f"    {json.dumps(world)}: {json.dumps(trial)}"
            for world, trial in result["trials"].items()
        )
        yield (
            f'  {json.dumps(name)}: {{"planned": {result["planned"]},\n'
            f'   "files": {json.dumps(result["files"])},\n   "trials": {{\n{rows}\n   }}}}'
        )


def read_card(path: Path, standard: StandardSet) -> ScoreCard:
    """Read a card, or raise ``ResultsError`` if the file is no card, damaged, or of another version
    of the set.
    """
    content = read_json_object(path, ResultsError)
    if "set_version" not in content or "id" not in content:
        raise ResultsError(
            f"{path}: the file is not a score card; specify a card.json of `gz_testauto benchmark`"
        )
    if (content.get("format"), content["set_version"]) != (FORMAT, standard.version):
        raise ResultsError(
            f"{path}: the card has format {content.get('format')} and version "
            f"{content['set_version']} of the standard set, but this installation has format "
            f"{FORMAT} and version {standard.version}; install the version of gz_testauto that "
            f"wrote the card"
        )
    stored_id = content.pop("id")
    card = validate_as(ScoreCard, content, str(path), ResultsError)
    actual_id = card.id_of(standard)
    if actual_id != stored_id:
        raise ResultsError(
            f"{path}: the card is damaged: its content has the ID {actual_id}, but the file states "
            f"{stored_id!r}; copy the original card again"
        )
    return card


def card_of(
    standard: StandardSet,
    planner: BuiltinPlannerSpec,
    runs: Mapping[str, ClassRun],
    count: Optional[int],
    about: Mapping[str, Any],
) -> ScoreCard:
    """Return the score card of a planner from its finished campaigns, by class.

    ``count`` is the number of worlds of each class that were run, by default all. Raises
    ``ResultsError`` if the campaigns have different software versions.
    """
    versions: Dict[str, str] = {}
    first_class = ""
    for name, run in runs.items():
        current = versions_of(run.loaded.manifest.content)
        if versions and current != versions:
            changed = sorted(
                key for key in {*current, *versions} if current.get(key) != versions.get(key)
            )
            raise ResultsError(
                f"{run.directory}: class {name} was run with another version of {changed[0]} than "
                f"class {first_class}; specify a new directory with --out"
            )
        versions, first_class = current, first_class or name
    loaded = next(iter(runs.values())).loaded
    return ScoreCard(
        FORMAT,
        standard.version,
        planner_identity(planner, loaded.manifest.inputs),
        versions,
        {
            name: class_result(run, len(standard.classes[name].worlds), count)
            for name, run in runs.items()
        },
        about,
    )


def write_card(path: Path, card: ScoreCard, standard: StandardSet) -> None:
    write_atomically(path, card_bytes(card, standard))
