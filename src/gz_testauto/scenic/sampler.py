"""Draws scenes from a compiled scenario, by rejection or by keeping what fits.

Owns the drawing: which numbers a scene depends on (its seed and nothing else: not the order of
time measurements, as in Scenic's own sampler, nor what was drawn before), the two ways to draw,
and the account of which requirements failed how often. Imports Scenic when it is imported.
"""

import inspect
import random
from collections import Counter
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import numpy as np
from scenic.core.distributions import RejectionException, Samplable, needsSampling
from scenic.core.regions import AllRegion
from scenic.core.requirements import NonVisibilityRequirement, VisibilityRequirement
from scenic.core.utils import DefaultIdentityDict

from gz_testauto.errors import PlacementError
from gz_testauto.scenic.dynamic.draws import GlobalDraws, undisturbed
from gz_testauto.scenic.names import SceneName
from gz_testauto.scenic.program import Program, located
from gz_testauto.scenic.support import needs_support, stands_firmly

MOST_DRAWS = 2000
"""Of a whole scene, and of an object where those that fit are kept."""
KEEPING_DRAWS = 200
"""Of one object, before all are drawn again."""
SHOWN = 5


@dataclass(frozen=True)
class Drawn:
    """One scene: each object of the scenario with its name and what was drawn of it. ``scene`` is
    Scenic's own, where it was asked for."""

    objects: Tuple[Tuple[SceneName, Any], ...]
    parameters: Mapping[str, Any]
    draws: int
    scene: Any = None


class SceneSampler:
    """Draws scenes of one scenario. ``names`` has one per object of it, in its order. ``dynamic``:
    they are to act, and come with Scenic's own."""

    def __init__(
        self,
        scenario: Any,
        names: Sequence[SceneName],
        place: str,
        program: Program,
        keep: bool = False,
        dynamic: bool = False,
    ) -> None:
        self._dynamic = dynamic
        self._scenario = scenario
        self._objects = scenario.objects
        self._names = names
        self._place = place
        self._program = program
        self._keep = keep
        self._index = {id(obj): number for number, obj in enumerate(self._objects)}
        self._dependencies = _ordered_dependencies(scenario)
        self._visible = [
            (requirement, self._label(requirement))
            for requirement in scenario.defaultRequirements
            if isinstance(requirement, (VisibilityRequirement, NonVisibilityRequirement))
        ]
        self._fixed = [obj._hasStaticBounds for obj in self._objects]

    def draw(self, seed: int) -> Drawn:
        """The scene of a seed. Raises ``PlacementError`` that names what failed most."""
        with GlobalDraws.seeded(seed).going_on(), located(self._program.path):
            return self._draw()

    def _draw(self) -> Drawn:
        user = [r for r in self._scenario.userRequirements if random.random() <= r.prob]
        failures: Counter = Counter()
        for attempt in range(MOST_DRAWS):
            sample = (
                self._one_by_one(user, failures) if self._keep else self._at_once(user, failures)
            )
            if sample is not None:
                return self._drawn(sample, attempt + 1)
            if self._keep and sum(failures.values()) >= MOST_DRAWS * KEEPING_DRAWS:
                break
        raise PlacementError(self._report(attempt + 1, failures))

    def _drawn(self, sample: Any, draws: int) -> Drawn:
        objects = tuple((name, sample[obj]) for name, obj in zip(self._names, self._objects))
        parameters = {key: sample[value] for key, value in self._scenario.params.items()}
        scene = self._scenario._makeSceneFromSample(sample) if self._dynamic else None
        return Drawn(objects, parameters, draws, scene)

    # --- all at once: Scenic's own distribution -------------------------------------------------

    def _at_once(self, user: List[Any], failures: Counter) -> Any:
        try:
            sample = Samplable.sampleAll(self._dependencies)
        except RejectionException as rejection:
            failures[_no_place(rejection)] += 1
            return None
        failed = self._failed(sample, range(len(self._objects)), user, self._visible)
        if failed is None:
            return sample
        failures[failed] += 1
        return None

    # --- one by one: what fits stays -------------------------------------------------------------

    def _one_by_one(self, user: List[Any], failures: Counter) -> Any:
        sample = DefaultIdentityDict()
        waiting = list(user)
        visible = list(self._visible)
        for number, obj in enumerate(self._objects):
            for _ in range(KEEPING_DRAWS):
                trial = _copy(sample)
                failed = self._place_one(number, obj, trial, waiting, visible, failures)
                if failed is None:
                    sample = trial
                    break
                failures[failed] += 1
            else:
                return None
            waiting = [r for r in waiting if not _ready(r.dependencies, sample)]
            visible = [pair for pair in visible if not _ready(_seen_by(pair[0]), sample)]
        try:
            for quantity in self._dependencies:
                _sample_into(quantity, sample)
        except RejectionException as rejection:
            failures[_no_place(rejection)] += 1
            return None
        failed = self._failed(sample, (), waiting, visible)
        if failed is not None:
            failures[failed] += 1
            return None
        return sample

    def _place_one(
        self,
        number: int,
        obj: Any,
        sample: Any,
        waiting: List[Any],
        visible: List[Any],
        failures: Counter,
    ) -> Optional[str]:
        try:
            _sample_into(obj, sample)
        except RejectionException as rejection:
            return _no_place(rejection)
        ready = [r for r in waiting if _ready(r.dependencies, sample)]
        seen = [pair for pair in visible if _ready(_seen_by(pair[0]), sample)]
        return self._failed(sample, (number,), ready, seen)

    # --- what a scene must hold ------------------------------------------------------------------

    def _failed(
        self, sample: Any, numbers: Sequence[int], user: List[Any], visible: List[Any]
    ) -> Optional[str]:
        """The first requirement that a sample fails, in a fixed order; None where it is a scene.

        Requirements may draw numbers: they leave the state of drawing as it was.
        """
        with undisturbed():
            try:
                return (
                    self._outside(sample, numbers)
                    or self._collision(sample, numbers)
                    or self._unsupported(sample, numbers)
                    or next((self._label(r) for r in user if r.falsifiedBy(sample)), None)
                    or next((label for r, label in visible if r.falsifiedBy(sample)), None)
                )
            except RejectionException as rejection:
                return _no_place(rejection)

    def _outside(self, sample: Any, numbers: Sequence[int]) -> Optional[str]:
        for number in numbers:
            obj = self._objects[number]
            container = self._scenario.containerOfObject(obj)
            if isinstance(container, AllRegion):
                continue
            container = sample[container] if needsSampling(container) else container
            if not container.containsObject(sample[obj]):
                what = "the workspace" if obj.regionContainedIn is None else "its region"
                return f"{self._names[number].text} within {what}"
        return None

    def _collision(self, sample: Any, numbers: Sequence[int]) -> Optional[str]:
        there = [
            number
            for number, obj in enumerate(self._objects)
            if obj in sample and not sample[obj].allowCollisions
        ]
        if len(there) < 2:
            return None
        placed = [sample[self._objects[number]] for number in there]
        centers = np.array([[float(v) for v in obj.position] for obj in placed])
        radii = np.array([float(obj.radius) for obj in placed])
        wanted = set(numbers)
        for first, number in enumerate(there):
            if number not in wanted:
                continue
            others = range(first) if len(wanted) > 1 else range(len(there))
            distances = np.linalg.norm(centers - centers[first], axis=1)
            for second in others:
                if second == first or distances[second] > radii[first] + radii[second]:
                    continue
                if self._fixed[number] and self._fixed[there[second]]:
                    continue  # found out when the scenario was compiled
                if placed[first].intersects(placed[second]):
                    names = [self._names[there[second]].text, self._names[number].text]
                    return f"{names[0]} and {names[1]} apart"
        return None

    def _unsupported(self, sample: Any, numbers: Sequence[int]) -> Optional[str]:
        """What was put on something, or beside something high up, must stand there firmly."""
        for number in numbers:
            obj = sample[self._objects[number]]
            if not needs_support(obj):
                continue
            others = [
                sample[other]
                for index, other in enumerate(self._objects)
                if index != number and other in sample
            ]
            if not stands_firmly(obj, others):
                return f"{self._names[number].text} standing firmly on something"
        return None

    # --- what is said ----------------------------------------------------------------------------

    def _label(self, requirement: Any) -> str:
        if isinstance(requirement, (VisibilityRequirement, NonVisibilityRequirement)):
            sight = "visible from"
            if isinstance(requirement, NonVisibilityRequirement):
                sight = "not visible from"
            return f"{self._called(requirement.target)} {sight} {self._called(requirement.source)}"
        line = self._program.line(requirement.line)
        name = requirement.name
        named = "" if not name or name.startswith("requirement on line") else f" ({name})"
        return f"`require` on line {line}{named}"

    def _called(self, obj: Any) -> str:
        number = self._index.get(id(obj))
        return "a point" if number is None else self._names[number].text

    def _report(self, attempts: int, failures: Counter) -> str:
        most = sorted(failures.items(), key=lambda item: (-item[1], item[0]))
        shown = "; ".join(f"{what} ({count} times)" for what, count in most[:SHOWN])
        more = f"; and {len(most) - SHOWN} others" if len(most) > SHOWN else ""
        remedy = (
            "make the workspace larger or ask for less"
            if self._keep
            else "relax these, make the workspace larger, ask for less, or try --keep"
        )
        return (
            f"{self._place}: no scene in {attempts} attempts; what failed most: {shown}{more}: "
            f"{remedy}"
        )


def _no_place(rejection: Exception) -> str:
    text = str(rejection).strip().rstrip(".")
    return f"a place to draw from ({text})" if text else "a place to draw from"


def _copy(sample: Any) -> Any:
    copied = DefaultIdentityDict()
    copied.storage = dict(sample.storage)
    return copied


def _sample_into(quantity: Any, sample: Any) -> None:
    if quantity not in sample:
        sample[quantity] = quantity.sample(sample) if needsSampling(quantity) else quantity


def _ready(needed: Any, sample: Any) -> bool:
    return all(value in sample or not needsSampling(value) for value in needed)


def _seen_by(requirement: Any) -> Tuple[Any, ...]:
    return (requirement.source, requirement.target, *requirement.potential_occluders)


def _ordered_dependencies(scenario: Any) -> Tuple[Any, ...]:
    """What is drawn for a scene, in an order that no hash has a say in."""
    found: Dict[int, Any] = {}
    for value in (*scenario._instances, *scenario.params.values()):
        if isinstance(value, Samplable):
            found.setdefault(id(value), value)
    for requirement in scenario.requirements:
        wanted = {id(value) for value in requirement.dependencies}
        for value in _bound(requirement):
            if id(value) in wanted:
                found.setdefault(id(value), value)
    for value in scenario.dependencies:
        if isinstance(value, Samplable):
            found.setdefault(id(value), value)
    return tuple(found.values())


def _bound(requirement: Any) -> Iterator[Any]:
    """What the names in a requirement stand for, in the order of the program."""
    outer = inspect.getclosurevars(requirement.closure).nonlocals
    yield from outer.get("globalBindings", {}).values()
    for _, value in outer.get("cells", ()):
        yield value
