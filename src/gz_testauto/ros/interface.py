"""Declarations of the nodes' interfaces: parameters, topics, services and actions.

A node reads its parameters and registers its topics and services by its declaration
(:mod:`~gz_testauto.ros.node`, :mod:`~gz_testauto.ros.graph`), from which
``docs/reference/ros.md`` is generated. Types are names, so that it can be read without ROS.
"""

import os
from pathlib import Path
from typing import Any, List, NamedTuple, Optional, Type

from pydantic import BeforeValidator, ConfigDict, ValidationInfo
from typing_extensions import Annotated

from gz_testauto.base import resources
from gz_testauto.base.errors import SpecError
from gz_testauto.spec.model import Spec, resolve_path


class NodeParameters(Spec):
    """The private parameters of a node. Other parameters in its namespace are ignored: a node can
    also set parameters there, and other nodes can have names in it."""

    model_config = ConfigDict(extra="ignore")


def _resolve_or_none(value: Any, info: ValidationInfo) -> Any:
    return None if value == "" else resolve_path(value, info)


OptionalPath = Annotated[Optional[Path], BeforeValidator(_resolve_or_none)]
"""An existing file or directory: absolute, relative to the user's working directory,
``package://`` or ``model://``. Empty text counts as not set."""


class Endpoint(NamedTuple):
    """A topic, service or action of a node. ``name`` is relative to the node's namespace, or with
    ``~`` to its name; ``type`` is that of ROS, such as ``nav_msgs/Odometry``."""

    name: str
    type: str
    meaning: str
    latched: bool = False

    @property
    def handler(self) -> str:
        """The name of a service's handler: ``load_scene`` for ``~load_scene``."""
        return self.name.replace("~", "/").rpartition("/")[2]


class Node:
    """The interface of one node. Its methods add an endpoint and return it."""

    def __init__(self, name: str, purpose: str, parameters: Type[NodeParameters]) -> None:
        self.name, self.purpose, self.parameters = name, purpose, parameters
        self.published: List[Endpoint] = []
        self.subscribed: List[Endpoint] = []
        self.services: List[Endpoint] = []
        self.served_actions: List[Endpoint] = []
        self.used_actions: List[Endpoint] = []

    def publishes(self, name: str, type: str, meaning: str, latched: bool = False) -> Endpoint:
        """Add a topic that the node publishes."""
        self.published.append(Endpoint(name, type, meaning, latched))
        return self.published[-1]

    def subscribes(self, name: str, type: str, meaning: str) -> Endpoint:
        """Add a topic to which the node subscribes."""
        self.subscribed.append(Endpoint(name, type, meaning))
        return self.subscribed[-1]

    def serves(self, name: str, type: str, meaning: str) -> Endpoint:
        """Add a service."""
        self.services.append(Endpoint(name, type, meaning))
        return self.services[-1]

    def serves_action(self, name: str, type: str, meaning: str) -> Endpoint:
        """Add an action that the node serves."""
        self.served_actions.append(Endpoint(name, type, meaning))
        return self.served_actions[-1]

    def uses_action(self, name: str, type: str, meaning: str) -> None:
        """Add an action that the node uses as a client."""
        self.used_actions.append(Endpoint(name, type, meaning))


def existing_file(text: str, what: str) -> Path:
    """Return the absolute path of the file ``text``, relative to :func:`user_directory`.

    Raises ``SpecError`` with the name ``what`` of the value if the file does not exist.
    """
    path = resources.resolve(text, user_directory())
    if not os.path.exists(path):
        raise SpecError(f"{what} is {text!r}, but the file {path} does not exist")
    return path


def user_directory() -> Path:
    """Return the user's working directory, to which relative paths refer.

    roslaunch starts nodes in ``~/.ros`` and keeps ``PWD`` of the user's shell.
    """
    shell = os.environ.get("PWD", "")
    return Path(shell) if os.path.isabs(shell) and os.path.isdir(shell) else Path.cwd()
