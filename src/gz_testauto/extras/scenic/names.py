"""Names of the models in a scene, which distinguish obstacles from fixed models.

A model whose pose or size is drawn has the name of a random obstacle
(:mod:`gz_testauto.sampling.naming`), so that the static map and the simulators handle it as one.
"""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, Collection, List, Sequence

from gz_testauto.sampling.naming import PREFIX, obstacle_name


@dataclass(frozen=True)
class SceneName:
    """The name of an object's model, with its type as ``label``. ``drawn`` is True if position,
    orientation or size is drawn."""

    text: str
    label: str
    drawn: bool


def names_of(objects: Sequence[Any], reserved: Collection[str]) -> List[SceneName]:
    counts: Counter = Counter()
    names: List[SceneName] = []
    used = set(reserved)
    for obj in objects:
        label = label_of(obj.gz_model or _class_label(obj))
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
    """Return a label for a class or model, such as ``cafe_table`` for ``CafeTable``."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name) if "_" not in name else name
    label = re.sub(r"\W", "_", spaced, flags=re.ASCII).lower()
    if not re.match(r"[a-z]", label):
        label = f"model_{label.lstrip('_')}"
    return f"fixed_{label}" if label.startswith(PREFIX) else label


def _class_label(obj: Any) -> str:
    name = type(obj).__name__
    return "Object" if name == "SceneObject" else name
