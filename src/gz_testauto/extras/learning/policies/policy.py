"""Policies, which compute an action from an observation vector."""

import abc
import math
from typing import Dict, Sequence, Type

import numpy as np

from gz_testauto.base.arithmetic import matrix_product

ACTIONS = 2  # length of an action: forward speed and yaw rate


class Policy(abc.ABC):
    """A policy without memory."""

    @abc.abstractmethod
    def act(self, vector: np.ndarray) -> np.ndarray:
        """Return the action (2,) for the observation vector (n,)."""


class NetworkPolicy(Policy):
    """A neural network with hyperbolic tangents as activation functions of its hidden layers.

    In ``weights`` (w,), the weights of a neuron are followed by its constant, and the neurons by
    those of the next layer. ``size`` is the length of the observation vector, ``hidden`` the
    numbers of neurons.
    """

    kind = "network"

    def __init__(self, weights: np.ndarray, size: int, hidden: Sequence[int] = ()) -> None:
        """Raise ``ValueError`` for a wrong number of weights, or if one is not finite."""
        self.weights = weights = np.asarray(weights, dtype=float)
        sizes = [size, *hidden, ACTIONS]
        shapes = [(outputs, inputs + 1) for inputs, outputs in zip(sizes, sizes[1:])]
        counts = [rows * columns for rows, columns in shapes]
        if weights.shape != (sum(counts),):
            raise ValueError(
                f"the shape of the weights is {weights.shape}; a {self.kind} policy for this "
                f"observation must have ({sum(counts)},)"
            )
        if not np.isfinite(weights).all():
            raise ValueError(f"the weights of a {self.kind} policy must be finite numbers")
        layers = np.split(weights, np.cumsum(counts)[:-1])
        self._layers = [layer.reshape(shape) for layer, shape in zip(layers, shapes)]

    def act(self, vector: np.ndarray) -> np.ndarray:
        numbers = np.asarray(vector, dtype=float)
        *hidden, last = self._layers
        for layer in hidden:
            numbers = np.tanh(matrix_product(layer[:, :-1], numbers) + layer[:, -1])
        return np.clip(matrix_product(last[:, :-1], numbers) + last[:, -1], -1.0, 1.0)


class LinearPolicy(NetworkPolicy):
    """A policy whose actions are hyperbolic tangents of linear functions of the observations."""

    kind = "linear"

    def act(self, vector: np.ndarray) -> np.ndarray:
        numbers = np.asarray(vector, dtype=float)
        for layer in self._layers:
            sums = [math.fsum((row[:-1] * numbers).tolist()) for row in layer]
            numbers = np.tanh(sums + layer[:, -1])
        return numbers


KINDS: Dict[str, Type[NetworkPolicy]] = {
    policy.kind: policy for policy in (NetworkPolicy, LinearPolicy)
}
