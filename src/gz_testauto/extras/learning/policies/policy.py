"""Policies, which compute an action from an observation vector.

This module contains the policies that need only NumPy. Each has its weights in one vector.
"""

import abc
import math
from typing import Dict, List, Mapping, Sequence, Tuple, Type

import numpy as np

from gz_testauto.base.arithmetic import matrix_product

ACTIONS = 2
"""Count of the numbers of an action: forward speed and yaw rate."""


class Policy(abc.ABC):
    """A policy, which computes an action in each control period."""

    def begin(self) -> None:  # noqa: B027 - most have no memory
        """Start a task, and reset the memory of the policy."""

    @abc.abstractmethod
    def act(self, shown: np.ndarray) -> np.ndarray:
        """Return the action (2,) for the observation vector ``shown`` (n,)."""


class WeightedPolicy(Policy):
    """A policy with ``weights`` (w,). ``parts`` are the slices of the observation vector, by the
    names of their terms. ``hidden`` are the numbers of neurons of hidden layers."""

    kind: str

    def __init__(
        self, weights: np.ndarray, parts: Mapping[str, slice], hidden: Sequence[int] = ()
    ) -> None:
        """Set the weights. Raises ``ValueError`` for a wrong number of weights, or if the
        observation vector lacks a term that the policy needs or has a term that it ignores."""
        weights = np.asarray(weights, dtype=float)
        needed = self.count(parts, hidden)
        if weights.shape != (needed,):
            raise ValueError(
                f"the shape of the weights is {weights.shape}; a {self.kind} policy for this "
                f"observation must have ({needed},)"
            )
        if not np.isfinite(weights).all():
            raise ValueError(f"the weights of a {self.kind} policy must be finite numbers")
        self.weights = weights
        self._lay(parts, hidden)

    @classmethod
    @abc.abstractmethod
    def count(cls, parts: Mapping[str, slice], hidden: Sequence[int] = ()) -> int:
        """Return the number of weights for an observation vector with these parts. Raises
        ``ValueError`` if the vector lacks a term that the policy needs or has a term that the
        policy would ignore."""

    @abc.abstractmethod
    def _lay(self, parts: Mapping[str, slice], hidden: Sequence[int]) -> None:
        """Assign the slices of the weight vector to attributes."""


def _require_exactly(kind: str, parts: Mapping[str, slice], names: Sequence[str]) -> None:
    used = " and ".join(names)
    lacking = [name for name in names if name not in parts]
    if lacking:
        raise ValueError(
            f"a {kind} policy needs the observation terms {used}; add {' and '.join(lacking)}"
        )
    unused = [name for name in parts if name not in names]
    if unused:
        raise ValueError(
            f"a {kind} policy uses only the observation terms {used}, each once; remove "
            f"{' and '.join(unused)}, or use a policy of another kind"
        )


class MirroredPolicy(WeightedPolicy):
    """A policy that drives mirrored trajectories in mirrored worlds, since it steers by the
    difference between left and right. It has weights for each pair of opposite lidar sectors.

    The policy turns towards the global plan, away from obstacles on one side, and around obstacles
    ahead. It passes an obstacle on the freer side, which it chooses when the obstacle becomes near
    and keeps until the obstacle is passed. It decelerates near obstacles, in turns, at the end of
    the global plan, and if the bearing of the plan is large. For the first three, only the absolute
    value of the weight counts, so that no weights accelerate there.
    """

    kind = "mirrored"
    FURTHER = 7
    BRAKING = 1.5
    """Factor of the weights of a pair of sectors, with which an obstacle at the origin of the robot
    reduces the speed."""

    @classmethod
    def count(cls, parts: Mapping[str, slice], hidden: Sequence[int] = ()) -> int:
        """Return three weights for each pair of sectors, and seven more."""
        _require_exactly(cls.kind, parts, ("lidar", "plan"))
        beams = parts["lidar"].stop - parts["lidar"].start
        if beams % 2:
            raise ValueError(f"lidar has {beams} beams; a mirrored policy needs an even number")
        return 3 * (beams // 2) + cls.FURTHER

    @classmethod
    def start(cls, parts: Mapping[str, slice]) -> np.ndarray:
        """Return the weights of a policy that follows the global plan, turns away from near points
        on all sides alike, and passes and slows down for points ahead."""
        pairs = (cls.count(parts) - cls.FURTHER) // 3
        ahead = np.cos(np.pi * (np.arange(pairs) + 0.5) / pairs)  # angles of the sectors' centers
        sectors = [np.full_like(ahead, 0.5), 0.6 + 0.4 * ahead, 0.3 + 0.4 * ahead]
        return np.concatenate([*sectors, [1.5, 2.0, 1.0, 0.5, 0.2, 0.8, 0.5]])

    def _lay(self, parts: Mapping[str, slice], hidden: Sequence[int]) -> None:
        lidar = parts["lidar"]
        half = (lidar.stop - lidar.start) // 2
        self._right = np.arange(lidar.start + half - 1, lidar.start - 1, -1)  # from ahead to behind
        self._left = np.arange(lidar.start + half, lidar.stop)
        self._plan = parts["plan"].start
        self._push, self._around, self._slow = self.weights[: 3 * half].reshape(3, half)
        further = self.weights[3 * half :].tolist()
        self._seek, self._speed, self._facing, self._yield = further[:4]
        self._turning, self._notice, self._arriving = further[4:]
        self.begin()

    def begin(self) -> None:
        """Start a task without a chosen side."""
        self._side = 0.0

    def act(self, shown: np.ndarray) -> np.ndarray:
        """Implement :meth:`Policy.act`."""
        seen = np.asarray(shown, dtype=float)
        left, right = seen[self._left] ** 2, seen[self._right] ** 2
        nearer = np.maximum(left, right)
        bearing = math.atan2(seen[self._plan + 2], seen[self._plan + 1])
        ahead = _product(np.abs(self._around), nearer)
        if ahead < abs(self._notice) * 0.1:
            self._side = 0.0
        elif self._side == 0.0:
            freer = _product(np.abs(self._around), right - left)
            self._side = math.copysign(1.0, freer + 0.3 * bearing)
        turn = (
            self._seek * bearing / (1.0 + abs(self._yield) * ahead)
            + _product(self._push, right - left)
            + self._side * _product(self._around, nearer)
        )
        forward = (
            self._speed
            + self._facing * (math.cos(bearing) - 1.0)
            - abs(self._turning * turn)
            - abs(self._arriving) * (1.0 - seen[self._plan])
            - self.BRAKING * _product(np.abs(self._slow), nearer**2)
        )
        return np.tanh([forward, turn])


class NetworkPolicy(WeightedPolicy):
    """A neural network with hyperbolic tangents as activation functions of its hidden layers. The
    weights of a neuron are followed by its constant, and the neurons by those of the next layer."""

    kind = "network"

    @classmethod
    def _sizes(cls, parts: Mapping[str, slice], hidden: Sequence[int]) -> List[Tuple[int, int]]:
        """Return the numbers of inputs and outputs of each layer."""
        sizes = [_length(parts), *hidden, ACTIONS]
        return list(zip(sizes, sizes[1:]))

    @classmethod
    def count(cls, parts: Mapping[str, slice], hidden: Sequence[int] = ()) -> int:
        """Implement :meth:`WeightedPolicy.count`."""
        return sum(outputs * (inputs + 1) for inputs, outputs in cls._sizes(parts, hidden))

    def _lay(self, parts: Mapping[str, slice], hidden: Sequence[int]) -> None:
        sizes = self._sizes(parts, hidden)
        ends = np.cumsum([outputs * (inputs + 1) for inputs, outputs in sizes])
        layers = np.split(self.weights, ends[:-1])
        self._layers = [layer.reshape(size[1], -1) for layer, size in zip(layers, sizes)]

    def act(self, shown: np.ndarray) -> np.ndarray:
        """Implement :meth:`Policy.act`."""
        numbers = np.asarray(shown, dtype=float)
        *hidden, last = self._layers
        for layer in hidden:
            numbers = np.tanh(matrix_product(layer[:, :-1], numbers) + layer[:, -1])
        return np.clip(matrix_product(last[:, :-1], numbers) + last[:, -1], -1.0, 1.0)


class LinearPolicy(NetworkPolicy):
    """A linear policy: each number of the action is the hyperbolic tangent of a weighted sum of the
    observations and a constant."""

    kind = "linear"

    def act(self, shown: np.ndarray) -> np.ndarray:
        """Implement :meth:`Policy.act`."""
        numbers = np.asarray(shown, dtype=float)
        for layer in self._layers:
            numbers = np.tanh([_product(row[:-1], numbers) for row in layer] + layer[:, -1])
        return numbers


class PerceptronPolicy(LinearPolicy):
    """A neural network with one hidden layer of :data:`HIDDEN` neurons, with hyperbolic tangents as
    activation functions."""

    kind = "perceptron"
    HIDDEN = 8

    @classmethod
    def _sizes(cls, parts: Mapping[str, slice], hidden: Sequence[int]) -> List[Tuple[int, int]]:
        return super()._sizes(parts, [cls.HIDDEN])


WEIGHTED: Dict[str, Type[WeightedPolicy]] = {
    policy.kind: policy
    for policy in (MirroredPolicy, NetworkPolicy, LinearPolicy, PerceptronPolicy)
}


def _length(parts: Mapping[str, slice]) -> int:
    return max((part.stop for part in parts.values()), default=0)


def _product(first: np.ndarray, second: np.ndarray) -> float:
    """Return the inner product of two vectors, with identical rounding on every machine."""
    return math.fsum((first * second).tolist())
