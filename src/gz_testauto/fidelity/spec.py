"""What is to be compared with what, and what counts how much.

Owns the shape of a bench's YAML::

    name: husky
    entries:
      - name: real
        recording: {imu: {topic: /imu/data}, drives: {flat/straight: [a.bag, b.bag]}}
      - name: other_simulator
        recording: {drives: {flat/straight: [c.csv, d.csv]}}
        features: {free: true, ros: plugin}
      - name: from_a_paper
        published: {real_time_factor: 0.97}
        source: Farley et al. 2022, Table 10
    reference: real
    weights: {free: 4, real_time_factor: 4, imu_linear_error: 10}
"""

from typing import Dict, List, Mapping, Optional, Tuple

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError
from typing_extensions import Annotated, Self

from gz_testauto.errors import UnknownNameError
from gz_testauto.fidelity.examples import ExampleSpec
from gz_testauto.fidelity.features import RULES, FeaturesSpec
from gz_testauto.fidelity.measures.interface import MEASURES, measure_named
from gz_testauto.fidelity.recordings.spec import RecordingSpec
from gz_testauto.fidelity.score import PAPER_WEIGHTS
from gz_testauto.registry import unknown_name
from gz_testauto.spec.model import Spec, SpecPath, as_tuple, repeated
from gz_testauto.spec.stack import NAME

Weight = Annotated[float, Field(ge=0, le=1e6)]


class EntrySpec(Spec):
    """One simulator, or the real robot. What is measured of it comes from recordings, or was
    ``published``; ``printed`` are scores that somebody gave, which are added up beside those that
    follow from the measurements."""

    name: str = Field(pattern=NAME)
    recording: Optional[RecordingSpec] = None
    campaign: Optional[SpecPath] = None
    """Results of a campaign that was run in it, for measures of planners."""
    published: Dict[str, float] = Field(default_factory=dict)
    """Values of measures."""
    printed: Dict[str, float] = Field(default_factory=dict)
    """Scores of criteria, from 0 to 1."""
    source: str = ""
    """Where the published values stand."""
    features: FeaturesSpec = FeaturesSpec()

    @model_validator(mode="after")
    def _has_something(self) -> Self:
        for name in self.published:
            _require_known("published", name, MEASURES.names())
        for name, score in self.printed.items():
            if not 0.0 <= score <= 1.0:
                raise ValueError(f"printed.{name} is {score:g}; a score is 0 to 1")
        return self


class BenchSpec(Spec):
    """The whole comparison."""

    name: str = Field(pattern=NAME)
    about: str = ""
    """For the report, above everything else."""
    seed: int = Field(0, ge=0)
    entries: Annotated[Tuple[EntrySpec, ...], BeforeValidator(as_tuple)] = Field(min_length=1)
    reference: Optional[str] = None
    """The entry that the others are measured against; it is not ranked."""
    real: bool = False
    """Whether the reference is a real robot; else the report speaks of agreement with it, never of
    accuracy."""
    weights: Dict[str, Weight] = Field(default_factory=lambda: dict(PAPER_WEIGHTS))
    """Of features and measures, by name; the paper's unless given. What has none is shown only."""
    examples: Annotated[Tuple[ExampleSpec, ...], BeforeValidator(as_tuple)] = ()
    """Printed means and ranges, of which the report says what error follows."""

    @model_validator(mode="after")
    def _names_fit(self) -> Self:
        names = [entry.name for entry in self.entries]
        twice = repeated(names)
        if twice:
            raise ValueError(f"entries: {', '.join(twice)} stands there more than once")
        if self.reference is not None:
            _require_known("reference", self.reference, names)
            reference = self.entry(self.reference)
            if reference.recording is None and reference.campaign is None:
                raise ValueError(f"reference: {self.reference} has no recording to compare with")
        if self.real and self.reference is None:
            raise ValueError("real: there is no reference; give one")
        if not self.ranked:
            raise ValueError("entries: there is only the reference; give one to compare with it")
        own = [name for entry in self.entries for name in entry.features.more]
        for name in self.weights:
            _require_known("weights", name, [*RULES, *own, *MEASURES.names()])
        for entry in self.entries:
            for name in entry.printed:
                _require_known(f"{entry.name}.printed", name, list(self.weights))
        if not any(weight > 0 for weight in self.weights.values()):
            raise ValueError("weights: all are 0; give one that counts")
        for entry in self.ranked:
            _require_cases(entry, self._reference_cases)
        return self

    def entry(self, name: str) -> EntrySpec:
        """By name."""
        return next(entry for entry in self.entries if entry.name == name)

    @property
    def ranked(self) -> List[EntrySpec]:
        """All but the reference."""
        return [entry for entry in self.entries if entry.name != self.reference]

    @property
    def features(self) -> Mapping[str, float]:
        """Weights of what is no measure."""
        measures = set(MEASURES.names())
        return {name: weight for name, weight in self.weights.items() if name not in measures}

    @property
    def _reference_cases(self) -> List[str]:
        if self.reference is None:
            return []
        recording = self.entry(self.reference).recording
        return [] if recording is None else list(recording.drives)


def _require_cases(entry: EntrySpec, cases: List[str]) -> None:
    """A case that the reference lacks is a name that is misspelt."""
    if entry.recording is not None and cases:
        for case in entry.recording.drives:
            _require_known(f"{entry.name}.recording.drives", case, cases)


def _require_known(where: str, name: str, known: List[str]) -> None:
    if name not in known:
        said = unknown_name("name", name, known)
        raise PydanticCustomError("predicate", "{reason}", {"reason": f"{where}: {said}"})


def weighted_measures(spec: BenchSpec) -> List[str]:
    """Measures that count. Raises ``UnknownNameError`` for one that cannot be imported."""
    found = [name for name in spec.weights if name not in spec.features]
    for name in found:
        measure_named(name)
    return found


__all__ = ["BenchSpec", "EntrySpec", "UnknownNameError", "weighted_measures"]
