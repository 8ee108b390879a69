"""Identify the worlds of a campaign by their content, mission and random numbers.

Worlds that agree in all three are copies of one world, whose trials are repetitions.
"""

import json
import re
from collections import Counter
from typing import Dict, Mapping, Sequence, Tuple

from gz_testauto.spec.worlds import name_of_world
from gz_testauto.worlds.record import WorldRecord

_ENTRY = re.compile(
    r"worlds\.files\[(\d+)\]\.(file|name|(?:start|goal|via|road|random_numbers).*)$"
)

# Inputs of campaigns whose trials draw more than noise, so equal files are different worlds.
_DRAWN_PER_WORLD = re.compile(
    r"(?:actors|randomize|effects|hooks)\[|worlds\.(?:scenic\b|missions\.)"
)

Mission = Tuple[Tuple[str, str], ...]


def missions(inputs: Mapping[str, str]) -> Dict[str, Mission]:
    """Return the start, goals and road of each world, by name, from the inputs of the manifest.
    They are pairs of a key and its JSON text."""
    return {
        name: tuple(item for item in entry if not item[0].startswith("random_numbers"))
        for name, entry in _missions_with_numbers(inputs).items()
    }


def copies_of_worlds(worlds: Sequence[WorldRecord], inputs: Mapping[str, str]) -> Dict[str, str]:
    """Return the names of worlds that are copies, each with the name of the earlier equal world.

    ``inputs`` are those of the manifest. A world without the hash of a file is not a copy.
    """
    entries = _missions_with_numbers(inputs)
    is_drawn = any(map(_DRAWN_PER_WORLD.match, inputs))
    originals: Dict[Tuple[object, ...], str] = {}
    copies = {}
    for world in worlds:
        entry = _without_defaults(entries.get(world.name, ()), inputs)
        has_numbers = any(key.startswith("random_numbers") for key, _ in entry)
        content = _content_hash(world)
        key = (content, entry, world.world_index if is_drawn and not has_numbers else None)
        original = originals.setdefault(key, world.name) if content else world.name
        if original != world.name:
            copies[world.name] = original
    return copies


def _without_defaults(entry: Mission, inputs: Mapping[str, str]) -> Mission:
    """Return an entry without a start and goal that are equal to those of the campaign."""
    for key, default in (("start.", "robot.start."), ("goal.", "goal.")):
        values = {name: value for name, value in entry if name.startswith(key)}
        if all(inputs.get(default + name[len(key) :]) == values[name] for name in values):
            entry = tuple(item for item in entry if item[0] not in values)
    return entry


def has_equal_files(worlds: Sequence[WorldRecord]) -> bool:
    counts = Counter(filter(None, map(_content_hash, worlds)))
    return any(count > 1 for count in counts.values())


def _content_hash(world: WorldRecord) -> str:
    return world.content_sha256 or world.sha256


def _missions_with_numbers(inputs: Mapping[str, str]) -> Dict[str, Mission]:
    """Return the inputs ``worlds.files[0].KEY`` of each world, by the name of the world, as pairs
    of key and value."""
    entries: Dict[str, Dict[str, str]] = {}
    for name, value in inputs.items():
        match = _ENTRY.match(name)
        if match:
            entries.setdefault(match[1], {})[match[2]] = value
    named = {}
    for entry in entries.values():
        file, name = (_parse_text(entry.pop(key, "")) for key in ("file", "name"))
        items = sorted(item for item in entry.items() if item[1] != "null")
        named[name or name_of_world(file)] = tuple(items)
    return named


def _parse_text(value: str) -> str:
    try:
        content = json.loads(value or '""')
    except ValueError:
        return ""
    return content if isinstance(content, str) else ""
