"""Declare the arguments of a command from a class of options, and read numbers."""

import argparse
import functools
import json
import math
import os
from pathlib import Path
from typing import Any, Optional, Tuple, Type, TypeVar, Union

from typing_extensions import Annotated, get_args, get_origin

from gz_testauto.base.errors import ResourceError, SdfError
from gz_testauto.spec.options import Options

ROBOT = "package://gz_testauto/models/jackal_sized/model.sdf"

OptionsType = TypeVar("OptionsType", bound=Options)


def add_options(parser: argparse._ActionsContainer, options: Type[Options], *names: str) -> None:
    """Declare the fields ``names`` (default: all) of a class of options as arguments."""
    for name in names or options.model_fields:
        field = options.model_fields[name]
        text, kind = str(field.description), _type_of(field.annotation)
        if kind is bool:
            parser.add_argument(options.name_of(name), dest=name, action="store_true", help=text)
            continue
        assert isinstance(field.json_schema_extra, dict)
        settings = {"metavar": field.json_schema_extra["metavar"], "default": field.default}
        if field.default == ():
            settings.update(action="append", default=[])
            text += "; repeatable"
        else:
            settings["type"] = _names if kind is tuple else kind
            text += "" if field.default in (None, "") else f" (default: {field.default})"
        parser.add_argument(options.name_of(name), dest=name, help=text, **settings)


def add_robot_argument(parser: argparse.ArgumentParser) -> None:
    """Declare the option ``--robot`` of a command that writes a campaign."""
    parser.add_argument(
        "--robot",
        metavar="MODEL",
        default=ROBOT,
        help="SDF or URDF file of the robot, its directory or package:// URI "
        "(default: %(default)s)",
    )


def robot_keys(arguments: argparse.Namespace, lidar_m: Optional[Tuple[float, float]] = None) -> str:
    """Return the key ``model`` of a campaign for :func:`add_robot_argument`, as YAML. If the robot
    has several planar lidars, add the key ``lidar``: the lidar nearest to ``lidar_m`` (x, y in the
    base frame), or all lidars."""
    from gz_testauto.base import resources
    from gz_testauto.sdf.robot import read_sensors

    robot: str = arguments.robot
    model = robot if "://" in robot else str(Path(robot).absolute())
    text = f"model: {json.dumps(model, ensure_ascii=False)}"
    try:
        sensors = read_sensors(resources.resolve(model, Path.cwd()))
    except (ResourceError, SdfError):  # `run` reports it, perhaps after a correction
        return text
    lidars = [sensor for sensor in sensors if sensor.kind == "scan"]
    if len(lidars) < 2:
        return text
    if lidar_m is not None:
        nearest = min(lidars, key=lambda it: math.dist(it.mount.position[:2], lidar_m))
        return f"{text}\n  lidar: {json.dumps(nearest.name, ensure_ascii=False)}"
    names = [lidar.name for lidar in lidars]
    return f"{text}\n  lidar: {json.dumps(names, ensure_ascii=False)}"


def read_options(arguments: argparse.Namespace, options: Type[OptionsType]) -> OptionsType:
    """Return the options of a class from the command line. Raises ``SpecError``, which lists all
    invalid options."""
    return options.of(**{name: getattr(arguments, name) for name in options.model_fields})


def comma_separated(text: str) -> Optional[Tuple[str, ...]]:
    """Return the names in the text; None without names."""
    return tuple(name.strip() for name in text.split(",") if name.strip()) or None


def _names(text: str) -> Tuple[str, ...]:
    names = comma_separated(text)
    if names is None:
        raise argparse.ArgumentTypeError(f"{text!r} contains no name; separate names by commas")
    return names


def _type_of(annotation: Any) -> Any:
    """Return the type in an annotation, without ``Optional``, ``Annotated`` and types of items."""
    origin = get_origin(annotation)
    if origin in (Union, Annotated):
        return _type_of(get_args(annotation)[0])
    return origin or annotation


def processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def whole_number(text: str, least: int = 0) -> int:
    """Return the value of an option. Raises ``argparse.ArgumentTypeError`` unless it is a whole
    number of at least ``least``."""
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(
            f"{text!r} is invalid; it must be a whole number of at least {least}"
        )
    return int(text)


worker_count = functools.partial(whole_number, least=1)
