"""Interpretation of the argument ``spec`` of a service, which is a name, a path, or YAML text."""

import os
from pathlib import Path
from typing import Any, Mapping, Union

from gz_testauto.base import resources
from gz_testauto.base.errors import SpecError
from gz_testauto.ros.interface import user_directory
from gz_testauto.spec.loader import load, parse
from gz_testauto.spec.obstacles import ObstacleSpec
from gz_testauto.spec.yaml_source import YamlSource, read_yaml_text
from gz_testauto.worlds.spawner import SET_SOURCES, SetSource

INLINE = "inline"


def read_spec(argument: str) -> ObstacleSpec:
    """Read an obstacle specification from its name, its path, or YAML text.

    Raises ``SpecError`` with the file and line of an error, or with the accepted forms.
    """
    text = argument.strip()
    if not text:
        raise SpecError(f"spec is empty; {_choices_text()}")
    if isinstance(_parse_yaml(text), dict):
        return parse(text, ObstacleSpec, user_directory() / INLINE, called=INLINE)
    path = resources.resolve(text, user_directory())
    if os.path.isfile(path):
        return load(path, ObstacleSpec)
    spec_file = _config_directory() / f"{text}.yaml"
    if os.path.isfile(spec_file):
        return load(spec_file, ObstacleSpec)
    raise SpecError(f"spec {text!r} is neither a name nor a file; {_choices_text()}")


def read_set(argument: str) -> Union[ObstacleSpec, SetSource]:
    """Read an obstacle specification, or return the source of obstacle sets.

    A source reads files with its suffix (``room.scenic``), and YAML text with its name as a key
    (``scenic: {file: …, models: …}``). Raises ``SpecError``.
    """
    text = argument.strip()
    if isinstance(_parse_yaml(text), dict):
        source = _source_of(_parse_mapping(text, INLINE))
        if source is None:
            return read_spec(argument)
        return source(parse(text, source.spec_type, user_directory() / INLINE, called=INLINE))
    path = resources.resolve(text, user_directory()) if text else Path()
    if not os.path.isfile(path):
        return read_spec(argument)
    suffix = path.suffix[1:]
    if suffix in SET_SOURCES.names():
        file_source: SetSource = SET_SOURCES.get(suffix).of_file(path, text)
        return file_source
    source = _source_of(_parse_mapping(read_yaml_text(path), str(path)))
    return read_spec(argument) if source is None else source(load(path, source.spec_type))


def label_of(argument: str) -> str:
    return INLINE if isinstance(_parse_yaml(argument), dict) else argument.strip()


def _source_of(keys: Mapping[str, object]) -> Any:
    name = next((name for name in SET_SOURCES.names() if name in keys), None)
    return None if name is None else SET_SOURCES.get(name)


def _parse_mapping(text: str, name: str) -> Mapping[str, object]:
    data = YamlSource(text, name).data
    return data if isinstance(data, Mapping) else {}


def _choices_text() -> str:
    names = ", ".join(sorted(path.stem for path in _config_directory().glob("*obstacles*.yaml")))
    return f"set a name ({names or 'none is installed'}), the path of a YAML file, or YAML text"


def _config_directory() -> Path:
    return resources.share_directory() / "config"


def _parse_yaml(text: str) -> object:
    try:
        return YamlSource(text, INLINE).data
    except SpecError:
        # Text that contains a colon but is not YAML. The loader reports the line of the error.
        return {} if ":" in text and "://" not in text.split()[0] else text
