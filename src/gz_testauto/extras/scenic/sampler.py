"""Random scenes of a compiled Scenic program, by rejection or by keeping valid objects.

A scene depends only on its seed; in Scenic's own sampler, also on time measurements and on earlier
draws. Importing this module imports Scenic.
"""

import functools
import inspect
import random
from collections import Counter
from dataclasses import dataclass
from typing import (
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

import numpy as np
from scenic.core.distributions import RejectionException, Samplable, needsSampling
from scenic.core.regions import AllRegion
from scenic.core.requirements import NonVisibilityRequirement, VisibilityRequirement
from scenic.core.utils import DefaultIdentityDict

from gz_testauto.base.errors import PlacementError
from gz_testauto.extras.scenic.dynamic.global_state import GeneratorStates, preserved_random_state
from gz_testauto.extras.scenic.language.faults import LINE_ADDED, located
from gz_testauto.extras.scenic.names import SceneName
from gz_testauto.extras.scenic.program import Program
from gz_testauto.extras.scenic.support import has_stable_support, needs_support

MOST_DRAWS = 2000  # largest number of draws of whole scenes
KEEPING_DRAWS = 200  # largest number of draws of one object before all objects are drawn again
MOST_KEEPING_DRAWS = 10_000  # draws of single objects, plus :data:`KEEPING_DRAWS` for each object
DIAGNOSED = 200  # scenes in which each requirement is tested alone if no scene is valid
MOST_DIAGNOSED_OBJECTS = 2000  # largest total number of objects in these scenes
SHOWN = 5

DrawProgress = Callable[[int, int], None]
"""Called before each draw, with the number of draws so far and their limit."""


@dataclass(frozen=True)
class Drawn:
    """A drawn scene. ``scene`` is Scenic's object of a dynamic scenario, otherwise None."""

    objects: Tuple[Tuple[SceneName, Any], ...]
    parameters: Mapping[str, Any]
    draws: int
    scene: Any = None


class SceneSampler:
    """A sampler of the scenes of one program. If ``keep`` is True, valid objects are kept and the
    others are drawn again."""

    def __init__(
        self, program: Program, names: Sequence[SceneName], keep: bool, dynamic: bool
    ) -> None:
        self._path, self._scenario = program.path, program.scenario
        self._objects, self._names = program.scenario.objects, names
        self._keep, self._dynamic = keep, dynamic
        self._index = {id(obj): number for number, obj in enumerate(self._objects)}
        self._dependencies = _ordered_dependencies(self._scenario)
        self._visible = [
            (requirement, self._label(requirement))
            for requirement in self._scenario.defaultRequirements
            if isinstance(requirement, (VisibilityRequirement, NonVisibilityRequirement))
        ]
        self._fixed = [obj._hasStaticBounds for obj in self._objects]

    def draw(self, seed: int, progress: Optional[DrawProgress] = None) -> Drawn:
        """Return the scene for a seed. Raises ``PlacementError`` with the requirements that fail
        most often."""
        # trimesh divides by the area of slivers, and drops the result
        without_warnings = np.errstate(divide="ignore", invalid="ignore")
        with GeneratorStates.seeded(seed).active(), without_warnings:
            return self._draw(progress)

    def _draw(self, progress: Optional[DrawProgress]) -> Drawn:
        user = [r for r in self._scenario.userRequirements if random.random() <= r.prob]
        limit = MOST_DRAWS
        if self._keep:
            limit = MOST_KEEPING_DRAWS + KEEPING_DRAWS * len(self._objects)
        draws = _Draws(limit, progress)
        attempt = 0
        while draws.is_within_limit:
            sample = (
                self._sample_one_by_one(user, draws)
                if self._keep
                else self._sample_at_once(user, draws)
            )
            attempt += 1
            if sample is not None:
                with located(self._path):
                    return self._drawn_scene(sample, attempt)
        with located(self._path):
            shares = self._failure_shares(user)
        raise PlacementError(self._failure_message(limit, shares))

    def _drawn_scene(self, sample: Any, draws: int) -> Drawn:
        objects = tuple((name, sample[obj]) for name, obj in zip(self._names, self._objects))
        parameters = {key: sample[value] for key, value in self._scenario.params.items()}
        scene = self._scenario._makeSceneFromSample(sample) if self._dynamic else None
        return Drawn(objects, parameters, draws, scene)

    # --- all objects together, with the distribution of Scenic itself ----------------------------

    def _sample_at_once(self, user: List[Any], draws: "_Draws") -> Any:
        draws.count()
        with located(self._path):
            try:
                sample = Samplable.sampleAll(self._dependencies)
            except RejectionException:
                return None
            numbers = range(len(self._objects))
            return sample if self._holds(sample, numbers, user, self._visible) else None

    # --- one by one: valid objects are kept ------------------------------------------------------

    def _sample_one_by_one(self, user: List[Any], draws: "_Draws") -> Any:
        sample = DefaultIdentityDict()
        untested = list(user)
        visible = list(self._visible)
        draws.count()
        for number, obj in enumerate(self._objects):
            for _ in range(KEEPING_DRAWS):
                if not draws.is_within_limit:
                    return None
                draws.count()
                candidate = DefaultIdentityDict()
                candidate.storage = dict(sample.storage)
                if self._sample_object(number, obj, candidate, untested, visible):
                    sample = candidate
                    break
            else:
                return None
            untested = [r for r in untested if not _are_sampled(r.dependencies, sample)]
            visible = [
                pair
                for pair in visible
                if not _are_sampled(_objects_of_visibility(pair[0]), sample)
            ]
        with located(self._path):
            try:
                for quantity in self._dependencies:
                    _sample_into(quantity, sample)
            except RejectionException:
                return None
            return sample if self._holds(sample, (), untested, visible) else None

    def _sample_object(
        self, number: int, obj: Any, sample: Any, untested: List[Any], visible: List[Any]
    ) -> bool:
        with located(self._path):
            try:
                _sample_into(obj, sample)
            except RejectionException:
                return False
            ready = [r for r in untested if _are_sampled(r.dependencies, sample)]
            ready_visible = [
                pair for pair in visible if _are_sampled(_objects_of_visibility(pair[0]), sample)
            ]
            return self._holds(sample, (number,), ready, ready_visible)

    # --- requirements of a scene -----------------------------------------------------------------

    def _holds(
        self, sample: Any, numbers: Sequence[int], user: List[Any], visible: List[Any]
    ) -> bool:
        """Return whether the objects with the indices ``numbers`` are validly placed in a sample,
        and all requirements in ``user`` and ``visible`` hold. The order of tests is fixed."""
        with preserved_random_state():  # requirements can draw random numbers
            try:
                return not (
                    self._is_any_outside(sample, numbers)
                    or self._does_any_overlap(sample, numbers)
                    or self._is_any_unsupported(sample, numbers)
                    or any(r.falsifiedBy(sample) for r in user)
                    or any(r.falsifiedBy(sample) for r, _ in visible)
                )
            except RejectionException:
                return False

    def _is_any_outside(self, sample: Any, numbers: Sequence[int]) -> bool:
        for number in numbers:
            obj = self._objects[number]
            container = self._scenario.containerOfObject(obj)
            if isinstance(container, AllRegion):
                continue
            container = sample[container] if needsSampling(container) else container
            if not container.containsObject(sample[obj]):
                return True
        return False

    def _does_any_overlap(self, sample: Any, numbers: Sequence[int]) -> bool:
        present = [
            number
            for number, obj in enumerate(self._objects)
            if obj in sample and not sample[obj].allowCollisions
        ]
        if len(present) < 2:
            return False
        objects = [sample[self._objects[number]] for number in present]
        centers = np.array([[float(v) for v in obj.position] for obj in objects])
        radii = np.array([float(obj.radius) for obj in objects])
        tested = set(numbers)
        for first, number in enumerate(present):
            if number not in tested:
                continue
            candidates = range(first) if len(tested) > 1 else range(len(present))
            distances = np.linalg.norm(centers - centers[first], axis=1)
            for second in candidates:
                if second == first or distances[second] > radii[first] + radii[second]:
                    continue
                if self._fixed[number] and self._fixed[present[second]]:
                    continue  # tested when the scenario was compiled
                if objects[first].intersects(objects[second]):
                    return True
        return False

    def _is_any_unsupported(self, sample: Any, numbers: Sequence[int]) -> bool:
        """Return whether one of the objects with these indices rests on another object and is not
        stable there."""
        for number in numbers:
            obj = sample[self._objects[number]]
            if not needs_support(obj):
                continue
            neighbors = [
                sample[neighbor]
                for index, neighbor in enumerate(self._objects)
                if index != number and neighbor in sample
            ]
            if not has_stable_support(obj, neighbors):
                return True
        return False

    # --- report if no scene is found -------------------------------------------------------------

    def _failure_shares(self, user: List[Any]) -> List[Tuple[str, float]]:
        """Test each requirement alone in drawn scenes. Return for each kind the requirement that
        fails most often, with the share of its failures, the largest share first."""
        tested: Counter[_Label] = Counter()
        failed: Counter[_Label] = Counter()
        count = len(self._objects)
        for _ in range(min(DIAGNOSED, max(1, MOST_DIAGNOSED_OBJECTS // max(1, count)))):
            try:
                sample = Samplable.sampleAll(self._dependencies)
            except RejectionException as rejection:
                tested[_position_label(rejection)] += 1
                failed[_position_label(rejection)] += 1
                continue
            for label, fails in self._labeled_tests(sample, user):
                with preserved_random_state():
                    try:
                        fault = fails()
                    except RejectionException as rejection:
                        label, fault = _position_label(rejection), True
                tested[label] += 1
                failed[label] += fault
        shares = [(label, count / tested[label]) for label, count in failed.items() if count]
        shares.sort(key=lambda item: (-item[1], item[0]))
        worst_by_kind: Dict[str, Tuple[str, float]] = {}
        for label, share in shares:
            worst_by_kind.setdefault(label.kind, (label.text, share))
        return list(worst_by_kind.values())

    def _labeled_tests(
        self, sample: Any, user: List[Any]
    ) -> Iterator[Tuple["_Label", Callable[[], bool]]]:
        """Yield a label for each requirement, and a function that returns whether it fails."""
        for number, (obj, name) in enumerate(zip(self._objects, self._names)):
            where = "the workspace" if obj.regionContainedIn is None else "its region"
            for kind, text, fails in (
                (f"within {where}", f"within {where}", self._is_any_outside),
                ("collision", "without collision", self._does_any_overlap),
                ("support", "with stable support", self._is_any_unsupported),
            ):
                label = _Label(kind, f"{name.text} {text}")
                yield label, functools.partial(fails, sample, (number,))
        labeled = [(requirement, self._label(requirement)) for requirement in user]
        for requirement, text in (*labeled, *self._visible):
            yield _Label(text, text), functools.partial(requirement.falsifiedBy, sample)

    def _label(self, requirement: Any) -> str:
        if isinstance(requirement, (VisibilityRequirement, NonVisibilityRequirement)):
            relation = "visible from"
            if isinstance(requirement, NonVisibilityRequirement):
                relation = "not visible from"
            target, source = map(self._name_of, (requirement.target, requirement.source))
            return f"{target} {relation} {source}"
        line = max(1, requirement.line - LINE_ADDED)
        name = requirement.name
        suffix = "" if not name or name.startswith("requirement on line") else f" ({name})"
        return f"`require` on line {line}{suffix}"

    def _name_of(self, obj: Any) -> str:
        number = self._index.get(id(obj))
        return "a point" if number is None else self._names[number].text

    def _failure_message(self, limit: int, shares: List[Tuple[str, float]]) -> str:
        shown = "; ".join(f"{text} ({share:.0%} of draws)" for text, share in shares[:SHOWN])
        drawn, remedy = ("objects", "") if self._keep else ("scenes", ", or use --keep-placed")
        return (
            f"{self._path}: no valid scene in {limit} draws of {drawn}. Requirements that fail "
            f"most often when tested alone: {shown or 'none'}. Relax them, enlarge the workspace, "
            f"place fewer objects{remedy}"
        )


class _Label(NamedTuple):
    """A requirement in a report: its kind and its text."""

    kind: str
    text: str


class _Draws:
    def __init__(self, limit: int, progress: Optional[DrawProgress]) -> None:
        self._limit, self._progress = limit, progress
        self._count = 0

    @property
    def is_within_limit(self) -> bool:
        return self._count < self._limit

    def count(self) -> None:
        if self._progress is not None:
            self._progress(self._count, self._limit)
        self._count += 1


def _position_label(rejection: Exception) -> _Label:
    text = str(rejection).strip().rstrip(".")
    return _Label("position", f"a position to draw ({text})" if text else "a position to draw")


def _sample_into(quantity: Any, sample: Any) -> None:
    if quantity not in sample:
        sample[quantity] = quantity.sample(sample) if needsSampling(quantity) else quantity


def _are_sampled(needed: Any, sample: Any) -> bool:
    return all(value in sample or not needsSampling(value) for value in needed)


def _objects_of_visibility(requirement: Any) -> Tuple[Any, ...]:
    return (requirement.source, requirement.target, *requirement.potential_occluders)


def _ordered_dependencies(scenario: Any) -> Tuple[Any, ...]:
    """Return the values to draw: objects, parameters, values in requirements, all other values."""
    dependencies: Dict[int, Any] = {}
    for value in (*scenario._instances, *scenario.params.values()):
        if isinstance(value, Samplable):
            dependencies.setdefault(id(value), value)
    for requirement in scenario.requirements:
        wanted = {id(value) for value in requirement.dependencies}
        for value in _bound_values(requirement):
            if id(value) in wanted:
                dependencies.setdefault(id(value), value)
    for value in scenario.dependencies:
        if isinstance(value, Samplable):
            dependencies.setdefault(id(value), value)
    return tuple(dependencies.values())


def _bound_values(requirement: Any) -> Iterator[Any]:
    """Yield the values of the names in a requirement, in the order of the program."""
    outer = inspect.getclosurevars(requirement.closure).nonlocals
    yield from outer.get("globalBindings", {}).values()
    for _, value in outer.get("cells", ()):
        yield value
