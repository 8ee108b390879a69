"""Names of a scene's models: what was drawn is an obstacle, what the scenario fixes is not.

Owns the rule, which makes the known map and the simulators tell them apart as they do with random
obstacles (:mod:`gz_testauto.sampling.naming`).
"""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, Collection, List, Sequence

from gz_testauto.sampling.naming import PREFIX, obstacle_name


@dataclass(frozen=True)
class SceneName:
    """``text`` is the model's name in the world, ``label`` what it is one of; ``drawn`` says that
    the scenario draws where it is, how it is turned or how large it is."""

    text: str
    label: str
    drawn: bool


def names_of(objects: Sequence[Any], taken: Collection[str]) -> List[SceneName]:
    """A name for each object of a compiled scenario, none of them in ``taken``."""
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
    """A name in letters, digits and ``_``, that begins with a letter: ``CafeTable`` of a class
    without a model is ``cafe_table``."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name) if "_" not in name else name
    label = re.sub(r"\W", "_", spaced, flags=re.ASCII).lower()
    if not re.match(r"[a-z]", label):
        label = f"model_{label.lstrip('_')}"
    return f"fixed_{label}" if label.startswith(PREFIX) else label


def _kind(obj: Any) -> str:
    name = type(obj).__name__
    return "Object" if name == "SceneObject" else name
