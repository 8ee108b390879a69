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


class Topic(NamedTuple):
    """A topic of a node. ``name`` is relative to the node's namespace, or with ``~`` to its name;
    ``type`` is a message type such as ``nav_msgs/Odometry``."""

    name: str
    type: str
    content: str
    latched: bool = False


class Service(NamedTuple):
    """A service of a node, with a service type such as ``std_srvs/Empty``. Its handler is the
    method with the last part of the service's name."""

    name: str
    type: str
    purpose: str

    @property
    def handler(self) -> str:
        """The name of the handler: ``load_scene`` for ``~load_scene``."""
        return self.name.replace("~", "/").rpartition("/")[2]


class Action(NamedTuple):
    """An action that a node serves, or that it uses as a client."""

    name: str
    type: str
    purpose: str


class Node:
    """The interface of one node. Its methods add a topic or service and return it."""

    def __init__(self, name: str, purpose: str, parameters: Type[NodeParameters]) -> None:
        self.name, self.purpose, self.parameters = name, purpose, parameters
        self.published: List[Topic] = []
        self.subscribed: List[Topic] = []
        self.services: List[Service] = []
        self.served_actions: List[Action] = []
        self.used_actions: List[Action] = []

    def publishes(self, name: str, type: str, content: str, latched: bool = False) -> Topic:
        """Add a topic that the node publishes."""
        self.published.append(Topic(name, type, content, latched))
        return self.published[-1]

    def subscribes(self, name: str, type: str, content: str) -> Topic:
        """Add a topic to which the node subscribes."""
        self.subscribed.append(Topic(name, type, content))
        return self.subscribed[-1]

    def serves(self, name: str, type: str, purpose: str) -> Service:
        """Add a service."""
        self.services.append(Service(name, type, purpose))
        return self.services[-1]

    def serves_action(self, name: str, type: str, purpose: str) -> Action:
        """Add an action that the node serves."""
        self.served_actions.append(Action(name, type, purpose))
        return self.served_actions[-1]

    def uses_action(self, name: str, type: str, purpose: str) -> Action:
        """Add an action that the node uses as a client."""
        self.used_actions.append(Action(name, type, purpose))
        return self.used_actions[-1]


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
