"""Classes for the declaration of a node's interface: parameters, topics, services and actions.

``docs/reference/ros.md`` is generated from them. Message types are text, so no ROS is needed.
"""

import os
from pathlib import Path
from typing import Any, List, NamedTuple, Optional, Type

from pydantic import ConfigDict, model_validator

from gz_testauto.base import resources
from gz_testauto.base.errors import SpecError
from gz_testauto.spec.model import SpecPath
from gz_testauto.spec.options import Options


class NodeParameters(Options):
    """The base class of the private parameters of a node.

    Unknown parameters are ignored: a node's namespace can also contain other parameters and nodes.
    Empty text means that a parameter is not set.
    """

    model_config = ConfigDict(extra="ignore")

    @classmethod
    def name_of(cls, field: str) -> str:
        """Return the name of a parameter, such as ``~max_invalid``."""
        return f"~{field}"

    @model_validator(mode="before")
    @classmethod
    def _omit_empty(cls, values: Any) -> Any:
        return {name: value for name, value in values.items() if value != ""}


OptionalPath = Optional[SpecPath]
"""Path of an existing file or directory. It is absolute, relative to the user's working directory,
or starts with ``package://`` or ``model://``."""


class Endpoint(NamedTuple):
    """A topic, service or action of a node.

    ``name`` is relative to the node's namespace, or to the node's name if it starts with ``~``.
    ``type`` is the name of the ROS type, such as ``nav_msgs/Odometry``.
    """

    name: str
    type: str
    meaning: str
    latched: bool = False

    @property
    def handler(self) -> str:
        """The name of the service's method: ``load_scene`` for ``~load_scene``."""
        return self.name.replace("~", "/").rpartition("/")[2]


class Node:
    """The declared interface of one node. Its methods add an endpoint, and return it."""

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
        """Add a service that the node offers."""
        self.services.append(Endpoint(name, type, meaning))
        return self.services[-1]

    def serves_action(self, name: str, type: str, meaning: str) -> Endpoint:
        """Add an action that the node serves."""
        self.served_actions.append(Endpoint(name, type, meaning))
        return self.served_actions[-1]

    def uses_action(self, name: str, type: str, meaning: str) -> None:
        """Add an action that the node uses as a client."""
        self.used_actions.append(Endpoint(name, type, meaning))


def existing_file(text: str, value_name: str) -> Path:
    """Return the absolute path of a file, or raise ``SpecError`` if it does not exist.

    A relative path refers to :func:`user_directory`. ``value_name`` names the value in the error.
    """
    path = resources.resolve(text, user_directory())
    if not os.path.exists(path):
        raise SpecError(f"{value_name} is {text!r}, but the file {path} does not exist")
    return path


def user_directory() -> Path:
    """Return the user's working directory, to which relative paths refer.

    roslaunch starts nodes in ``~/.ros``, but keeps ``PWD`` of the user's shell.
    """
    shell = os.environ.get("PWD", "")
    return Path(shell) if os.path.isabs(shell) and os.path.isdir(shell) else Path.cwd()
