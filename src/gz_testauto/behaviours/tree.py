"""An actor that a behaviour tree moves.

Owns the leaves of such trees: going, standing, conditions on who is where, looks, and changes. The
tree is ticked once a period; one that has ended begins anew with the next.
"""

import math
from pathlib import Path
from typing import Any, Callable, Dict, Optional, Sequence

import numpy as np
from py_trees.behaviour import Behaviour as Node
from py_trees.common import Status

from gz_testauto.behaviours.behaviour import Behaviour, Handle
from gz_testauto.behaviours.tracker import Period
from gz_testauto.simulators.changes import Change
from gz_testauto.trees.bt_xml import MakeLeaf, read_tree
from gz_testauto.trees.nodes import Clock


class Board:
    """What leaves see while the tree is ticked: the actor, its model and the period."""

    def __init__(self, actor: Behaviour) -> None:
        self.actor = actor
        self.me: Handle
        self.period: Period


class Tree(Behaviour):
    """Does what a tree says. ``make`` makes it, of the board for its leaves, a clock of simulated
    time and the generator that it draws from."""

    def __init__(
        self,
        name: str,
        tags: Sequence[str],
        make: Callable[[Board, Clock, np.random.Generator], Node],
    ) -> None:
        super().__init__(name, tags)
        self._make = make
        self._clock = Clock()
        self._board = Board(self)
        self.root: Optional[Node] = None

    @classmethod
    def of_file(cls, name: str, tags: Sequence[str], path: Path) -> "Tree":
        """A tree in BehaviorTree.CPP's XML with this module's leaves. Raises ``SpecError``."""

        def make(board: Board, clock: Clock, random: np.random.Generator) -> Node:
            return read_tree(path, leaves(board), clock, random)

        tree = cls(name, tags, make)
        tree.reset()
        return tree

    @property
    def doing(self) -> str:
        """The leaf that was ticked last."""
        tip = None if self.root is None else self.root.tip()
        return "tree" if tip is None else str(tip.name)

    def reset(self) -> None:
        """Make the tree."""
        self.root = self._make(self._board, self._clock, self.random)

    def act(self, me: Handle, period: Period) -> None:
        """Tick. Where no leaf moves the actor, it stands."""
        assert self.root is not None, "reset made it"
        me.stand()
        self._clock.now_s = period.time_s
        self._board.me, self._board.period = me, period
        for _ in self.root.tick():
            pass


class Leaf(Node):
    """A leaf with a board. ``attributes`` are what it has in XML."""

    def __init__(self, name: str, board: Board, **attributes: Any) -> None:
        super().__init__(name)
        self.board, self.attributes = board, attributes


class GoTo(Leaf):
    """Goes straight to a point (m, world frame); succeeds when it will be there."""

    def __init__(
        self, name: str, board: Board, x_m: float, y_m: float, speed_mps: float = 1.0
    ) -> None:
        super().__init__(name, board, x_m=x_m, y_m=y_m, speed_mps=speed_mps)
        self._x_m, self._y_m = float(x_m), float(y_m)
        self._speed_mps = _above_0("speed_mps", speed_mps)

    def update(self) -> Status:
        """See py_trees."""
        arrives = self.board.me.go_to(self._x_m, self._y_m, self._speed_mps)
        return Status.SUCCESS if arrives else Status.RUNNING


class Stand(Leaf):
    """Stands, and has succeeded."""

    def update(self) -> Status:
        """See py_trees."""
        return Status.SUCCESS


class IsNear(Leaf):
    """Whether somebody, ``robot``, a tag or a model, is within a distance (m)."""

    def __init__(self, name: str, board: Board, within_m: float, who: str = "robot") -> None:
        super().__init__(name, board, within_m=within_m, who=who)
        self._within_m, self._who = _above_0("within_m", within_m), who

    def update(self) -> Status:
        """See py_trees."""
        board = self.board
        near = board.actor.nearest(self._who, board.me, board.period) <= self._within_m
        return Status.SUCCESS if near else Status.FAILURE


class IsInside(Leaf):
    """Whether any of somebody's origins is within a circle (m, world frame)."""

    def __init__(
        self, name: str, board: Board, x_m: float, y_m: float, radius_m: float, who: str = "robot"
    ) -> None:
        super().__init__(name, board, x_m=x_m, y_m=y_m, radius_m=radius_m, who=who)
        self._x_m, self._y_m, self._who = float(x_m), float(y_m), who
        self._radius_m = _above_0("radius_m", radius_m)

    def update(self) -> Status:
        """See py_trees."""
        for name in self.board.actor.cast.names_of(self._who):
            state = self.board.period.state(name)
            if state is not None:
                x_m, y_m = state.pose.position[:2]
                if math.hypot(x_m - self._x_m, y_m - self._y_m) <= self._radius_m:
                    return Status.SUCCESS
        return Status.FAILURE


class SetLook(Leaf):
    """Changes how the actor looks: ``diffuse`` as ``r g b`` from 0 to 1, ``transparency``,
    ``visible`` (true or false)."""

    def __init__(self, name: str, board: Board, **attributes: str) -> None:
        super().__init__(name, board, **attributes)
        self._looks: Dict[str, Any] = {}
        for key, text in attributes.items():
            if key == "diffuse":
                red, green, blue = (float(part) for part in str(text).split())
                self._looks["diffuse"] = self._looks["ambient"] = (red, green, blue, 1.0)
            elif key == "transparency":
                self._looks[key] = float(text)
            elif key == "visible" and text in ("true", "false"):
                self._looks[key] = text == "true"
            else:
                raise ValueError(f"takes diffuse, transparency and visible, not {key}={text!r}")

    def update(self) -> Status:
        """See py_trees."""
        self.board.me.look(**self._looks)
        return Status.SUCCESS


class Apply(Leaf):
    """Hands in changes of anything in the world. From Python only."""

    def __init__(self, name: str, board: Board, changes: Sequence[Change]) -> None:
        super().__init__(name, board)
        self._changes = tuple(changes)

    def update(self) -> Status:
        """See py_trees."""
        self.board.period.change(*self._changes)
        return Status.SUCCESS


class Check(Leaf):
    """Whether something holds of the period: a collider that is touched, a gate that was passed.
    From Python only."""

    def __init__(self, name: str, board: Board, holds: Callable[[Period], bool]) -> None:
        super().__init__(name, board)
        self._holds = holds

    def update(self) -> Status:
        """See py_trees."""
        return Status.SUCCESS if self._holds(self.board.period) else Status.FAILURE


def leaves(board: Board) -> Dict[str, MakeLeaf]:
    """The leaves that XML can name, for one actor."""

    def bound(kind: Callable[..., Node]) -> MakeLeaf:
        return lambda name, **attributes: kind(name, board, **attributes)

    return {kind.__name__: bound(kind) for kind in (GoTo, Stand, IsNear, IsInside, SetLook)}


def _above_0(name: str, value: Any) -> float:
    number = float(value)
    if not number > 0:
        raise ValueError(f"{name} is {value}; it must be > 0")
    return number
