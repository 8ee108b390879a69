"""What ``spec`` may be in a service call: a specification's name, a path, or YAML; and for the
spawner a scenario in Scenic.

Owns telling them apart, and the message that names them all when it is none.
"""

import json
import os
from pathlib import Path
from typing import Mapping, Union

from gz_testauto.base import resources
from gz_testauto.base.errors import SpecError
from gz_testauto.extras.scenic.live_obstacles import DESCRIPTOR, Scenario, ScenarioSpec
from gz_testauto.ros.parameters import user_directory
from gz_testauto.spec.loader import load, parse
from gz_testauto.spec.obstacles import ObstacleSpec
from gz_testauto.spec.yaml_source import YamlSource, read_yaml_text

INLINE = "inline"
"""What messages and lists call a specification that was given as YAML text."""


def read_spec(argument: str) -> ObstacleSpec:
    """The specification that ``argument`` gives. Raises ``SpecError`` with file and line, or
    with what it may be."""
    text = argument.strip()
    if not text:
        raise SpecError(f"spec is empty; {_choices()}")
    if isinstance(_yaml(text), dict):
        return parse(text, ObstacleSpec, user_directory() / INLINE, called=INLINE)
    path = resources.resolve(text, user_directory())
    if os.path.isfile(path):
        return load(path, ObstacleSpec)
    named = _directory() / f"{text}.yaml"
    if os.path.isfile(named):
        return load(named, ObstacleSpec)
    raise SpecError(f"spec {text!r} is neither a name nor a file; {_choices()}")


def read_set(argument: str) -> Union[ObstacleSpec, Scenario]:
    """What ``argument`` has the spawner place: a scenario by its path, with ``models.yaml`` beside
    it, or written out (``{scenic: FILE, models: FILE}``), in a file or in place; else a
    specification, as :func:`read_spec`. Raises ``SpecError`` as that does."""
    text = argument.strip()
    if isinstance(_yaml(text), dict):
        if "scenic" in _mapping(text, INLINE):
            return Scenario(parse(text, ScenarioSpec, user_directory() / INLINE, called=INLINE))
        return read_spec(argument)
    path = resources.resolve(text, user_directory()) if text else Path()
    if path.suffix == ".scenic" and os.path.isfile(path):
        data = f"{{scenic: {json.dumps(str(path))}, models: {DESCRIPTOR}}}"
        return Scenario(parse(data, ScenarioSpec, path, called=text))
    if os.path.isfile(path) and "scenic" in _mapping(read_yaml_text(path), str(path)):
        return Scenario(load(path, ScenarioSpec))
    return read_spec(argument)


def label_of(argument: str) -> str:
    """How the specification is called when obstacles are listed."""
    return INLINE if isinstance(_yaml(argument), dict) else argument.strip()


def _mapping(text: str, name: str) -> Mapping[str, object]:
    """The keys of a YAML text; none where it is no mapping."""
    data = YamlSource(text, name).data
    return data if isinstance(data, Mapping) else {}


def _choices() -> str:
    names = ", ".join(sorted(path.stem for path in _directory().glob("*obstacles*.yaml")))
    return f"give a name ({names or 'none is installed'}), the path of a YAML file, or YAML text"


def _directory() -> Path:
    return resources.share_directory() / "config"


def _yaml(text: str) -> object:
    try:
        return YamlSource(text, INLINE).data
    except SpecError:
        # Something with a colon that is no YAML: let the loader say where it is wrong.
        return {} if ":" in text and not _is_uri(text) else text


def _is_uri(text: str) -> bool:
    return "://" in text.split()[0]
