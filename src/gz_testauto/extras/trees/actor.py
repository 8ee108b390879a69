"""An actor that a behavior tree moves, and the leaves of such trees."""

import math
from pathlib import Path
from typing import Any, Callable, Dict, Optional, Sequence

import numpy as np
from py_trees.behaviour import Behaviour as Node
from py_trees.common import Status
from typing_extensions import override

from gz_testauto.actors.actor import Actor
from gz_testauto.actors.hook import StepContext
from gz_testauto.extras.trees.bt_xml import MakeLeaf, read_tree
from gz_testauto.extras.trees.nodes import Clock
from gz_testauto.simulators.changes import Change


class TreeActor(Actor):
    """An actor that executes a behavior tree, which is ticked once in each control period, and
    starts again after its end. ``make`` creates the tree from the actor, a clock of simulated time,
    and a random generator."""

    def __init__(
        self,
        name: str,
        tags: Sequence[str],
        make: Callable[[Actor, Clock, np.random.Generator], Node],
    ) -> None:
        super().__init__(name, tags)
        self._create_root = make
        self._clock = Clock()
        self.root: Optional[Node] = None

    @classmethod
    def of_file(cls, name: str, tags: Sequence[str], path: Path) -> "TreeActor":
        """Read the tree from an XML file of BehaviorTree.CPP. Raise ``SpecError`` if the file
        cannot be read or is invalid."""

        def make(actor: Actor, clock: Clock, random: np.random.Generator) -> Node:
            return read_tree(path, leaves(actor), clock, random)

        tree = cls(name, tags, make)
        tree.reset()
        return tree

    @property
    def activity(self) -> str:
        """Return the name of the leaf that was ticked last."""
        tip = None if self.root is None else self.root.tip()
        return "tree" if tip is None else str(tip.name)

    def reset(self) -> None:
        self.root = self._create_root(self, self._clock, self.random)

    def act(self, context: StepContext) -> None:
        assert self.root is not None, "created by reset"
        self.stop()  # unless a leaf moves the actor
        self._clock.now_s = context.time_s
        for _ in self.root.tick():
            pass


class Leaf(Node):
    """A leaf that controls an actor. ``attributes`` are its attributes in XML."""

    def __init__(self, name: str, actor: Actor, **attributes: Any) -> None:
        super().__init__(name)
        self.actor, self.attributes = actor, attributes


class GoTo(Leaf):
    """A leaf that moves the actor in a straight line to a point (m, world frame), and succeeds
    there."""

    def __init__(
        self, name: str, actor: Actor, x_m: float, y_m: float, speed_mps: float = 1.0
    ) -> None:
        super().__init__(name, actor, x_m=x_m, y_m=y_m, speed_mps=speed_mps)
        self._x_m, self._y_m = float(x_m), float(y_m)
        self._speed_mps = _require_positive("speed_mps", speed_mps)

    @override
    def update(self) -> Status:
        arrives = self.actor.go_to(self._x_m, self._y_m, self._speed_mps)
        return Status.SUCCESS if arrives else Status.RUNNING


class Stand(Leaf):
    """A leaf that succeeds in each tick and does not move the actor."""

    @override
    def update(self) -> Status:
        return Status.SUCCESS


class IsNear(Leaf):
    """A condition that a model is within ``trigger_distance_m`` of the actor. ``model`` is
    ``robot``, a tag of actors, or the name of a model."""

    def __init__(
        self, name: str, actor: Actor, trigger_distance_m: float, model: str = "robot"
    ) -> None:
        super().__init__(name, actor, trigger_distance_m=trigger_distance_m, model=model)
        self._trigger_distance_m, self._model = (
            _require_positive("trigger_distance_m", trigger_distance_m),
            model,
        )

    @override
    def update(self) -> Status:
        near = self.actor.nearest(self._model) <= self._trigger_distance_m
        return Status.SUCCESS if near else Status.FAILURE


class IsInside(Leaf):
    """A condition that the origin of a model is inside a circle (m, world frame). ``model`` is
    ``robot``, a tag of actors, or the name of a model."""

    def __init__(
        self, name: str, actor: Actor, x_m: float, y_m: float, radius_m: float, model: str = "robot"
    ) -> None:
        super().__init__(name, actor, x_m=x_m, y_m=y_m, radius_m=radius_m, model=model)
        self._x_m, self._y_m, self._model = float(x_m), float(y_m), model
        self._radius_m = _require_positive("radius_m", radius_m)

    @override
    def update(self) -> Status:
        for name in self.actor.context.names_of(self._model):
            state = self.actor.context.state(name)
            if state is not None:
                x_m, y_m = state.pose.position[:2]
                if math.hypot(x_m - self._x_m, y_m - self._y_m) <= self._radius_m:
                    return Status.SUCCESS
        return Status.FAILURE


class ChangeVisual(Leaf):
    """A leaf that changes the actor's visuals. The attributes are ``diffuse`` as ``r g b`` from 0
    to 1, ``transparency`` from 0 to 1, and ``visible`` (true or false)."""

    def __init__(self, name: str, actor: Actor, **attributes: str) -> None:
        super().__init__(name, actor, **attributes)
        self._visuals: Dict[str, Any] = {}
        for key, text in attributes.items():
            if key == "diffuse":
                red, green, blue = (float(part) for part in str(text).split())
                self._visuals["diffuse"] = self._visuals["ambient"] = (red, green, blue, 1.0)
            elif key == "transparency":
                self._visuals[key] = float(text)
            elif key == "visible" and text in ("true", "false"):
                self._visuals[key] = text == "true"
            else:
                raise ValueError(
                    f"{key}={text!r} is not supported; use diffuse, transparency or visible"
                )

    @override
    def update(self) -> Status:
        self.actor.set_visuals(**self._visuals)
        return Status.SUCCESS


class Apply(Leaf):
    """A leaf that requests changes of the simulation, for trees that are created in Python."""

    def __init__(self, name: str, actor: Actor, changes: Sequence[Change]) -> None:
        super().__init__(name, actor)
        self._changes = tuple(changes)

    @override
    def update(self) -> Status:
        self.actor.context.change(*self._changes)
        return Status.SUCCESS


class Check(Leaf):
    """A condition that is a function of the step context, for trees that are created in Python."""

    def __init__(self, name: str, actor: Actor, holds: Callable[[StepContext], bool]) -> None:
        super().__init__(name, actor)
        self._holds = holds

    @override
    def update(self) -> Status:
        return Status.SUCCESS if self._holds(self.actor.context) else Status.FAILURE


def leaves(actor: Actor) -> Dict[str, MakeLeaf]:
    """Return the functions that create the leaves of one actor, by their names in XML."""

    def bind_actor(kind: Callable[..., Node]) -> MakeLeaf:
        return lambda name, **attributes: kind(name, actor, **attributes)

    return {
        kind.__name__: bind_actor(kind) for kind in (GoTo, Stand, IsNear, IsInside, ChangeVisual)
    }


def _require_positive(name: str, value: Any) -> float:
    number = float(value)
    if not number > 0:
        raise ValueError(f"{name} is {value}; it must be > 0")
    return number
