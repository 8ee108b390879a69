"""Name a scene's models: drawn models are obstacles, models that the scenario fixes are not.

By this rule the static map and the simulators distinguish them as they do for random obstacles
(:mod:`gz_testauto.sampling.naming`).
"""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, Collection, List, Sequence

from gz_testauto.sampling.naming import PREFIX, obstacle_name


@dataclass(frozen=True)
class SceneName:
    """The name of an object: ``text`` is the model's name in the world, ``label`` its type;
    ``drawn`` is true if the scenario draws its position, orientation or size."""

    text: str
    label: str
    drawn: bool


def names_of(objects: Sequence[Any], taken: Collection[str]) -> List[SceneName]:
    """Return a name for each object of a compiled scenario, none of them in ``taken``."""
    counts: Counter = Counter()
    names: List[SceneName] = []
    used = set(taken)
    for obj in objects:
        label = label_of(obj.gz_model or _kind(obj))
        drawn = not obj._hasStaticBounds
        while True:
            index = counts[label]
            counts[label] += 1
            text = obstacle_name(label, index) if drawn else f"{label}_{index}"
            if text not in used:
                break
        used.add(text)
        names.append(SceneName(text, label, drawn))
    return names


def label_of(name: str) -> str:
    """Return a name of letters, digits and ``_`` that starts with a letter: ``cafe_table`` for
    ``CafeTable``, a class without a model."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name) if "_" not in name else name
    label = re.sub(r"\W", "_", spaced, flags=re.ASCII).lower()
    if not re.match(r"[a-z]", label):
        label = f"model_{label.lstrip('_')}"
    return f"fixed_{label}" if label.startswith(PREFIX) else label


def _kind(obj: Any) -> str:
    name = type(obj).__name__
    return "Object" if name == "SceneObject" else name
