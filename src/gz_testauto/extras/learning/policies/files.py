"""Policy files in this package's format, in ONNX, and of Stable-Baselines3.

A *card* describes the observations that a policy needs and its training. A ``.npz`` file contains
its card. The card of ``policy.onnx`` is the file ``policy.onnx.json``.
"""

import io
import json
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import numpy as np
from pydantic import Field, PositiveInt, ValidationError

from gz_testauto.base.disk import (
    disk_errors,
    read_text,
    replace_file,
    require_regular,
)
from gz_testauto.base.errors import MissingDependencyError, SpecError
from gz_testauto.base.installation import importing
from gz_testauto.base.registry import unknown_name
from gz_testauto.extras.learning.policies.observations import Named, ObservationEncoder
from gz_testauto.extras.learning.policies.policy import ACTIONS, KINDS, NetworkPolicy, Policy
from gz_testauto.extras.learning.policies.safety import SafetyFilterSpec
from gz_testauto.results.recordings import read_arrays
from gz_testauto.spec.model import Spec

FORMAT = 1
WEIGHTS, CARD = "weights", "card"
OWN, ONNX, STABLE_BASELINES = ".npz", ".onnx", ".zip"


class TrainingCard(Spec):
    """The training of a policy."""

    environment: str = ""
    """Name of the campaign in which the policy was trained."""
    seed: int = 0
    steps: int = 0
    """Number of control periods of the training."""
    worlds: List[str] = Field(default_factory=list)
    """SHA-256 of each world file of the training."""


class PolicyCard(Spec):
    """The card of a policy: the observations that the policy needs, the filter of its commands, and
    its training."""

    format: int = Field(FORMAT, ge=1, le=FORMAT)
    kind: str
    """Kind of the policy: ``network`` or ``linear`` of this package, ``onnx``, or an algorithm of
    Stable-Baselines3 such as ``PPO``."""
    hidden: List[PositiveInt] = Field(default_factory=list)
    """Numbers of neurons of the hidden layers of a ``network``."""
    observations: List[Dict[str, Any]] = Field(min_length=1)
    """Terms of the observation vector, each with its name as ``term`` and its parameters."""
    safety_filter: Optional[SafetyFilterSpec] = None
    """The filter of the policy's commands, as in the environment in which it was trained."""
    training: TrainingCard = TrainingCard()

    @property
    def terms(self) -> Tuple[Named, ...]:
        entries = [dict(entry) for entry in self.observations]
        return tuple((str(entry.pop("term", "")), entry) for entry in entries)


def write_policy(path: Path, policy: NetworkPolicy, card: PolicyCard) -> None:
    """Write an ``.npz`` file. Equal policies give identical bytes."""
    buffer = io.BytesIO()
    empty = {name for name in ("hidden", "safety_filter") if not getattr(card, name)}
    text = json.dumps(card.model_dump(mode="json", exclude=empty), sort_keys=True)
    np.savez(buffer, **{WEIGHTS: policy.weights, CARD: np.array(text)})
    with disk_errors(path):
        replace_file(path, buffer.getvalue())


def read_card(path: Path) -> PolicyCard:
    """Return the card of a policy file. Raise ``SpecError`` if a file is missing or damaged."""
    if not path.exists():
        raise SpecError(f"{path}: the policy file was not found")
    if path.suffix == OWN:
        return _parse_card(_read_arrays(path)[1], path)
    if path.suffix not in (ONNX, STABLE_BASELINES):
        raise SpecError(f"{path}: the name of a policy file must end with .npz, .onnx or .zip")
    card_path = path.with_name(path.name + ".json")
    try:
        return _parse_card(read_text(card_path, SpecError), card_path)
    except SpecError as error:
        raise SpecError(
            f"the card of the policy: {error}; write the observations of the policy to this file, "
            'such as {"kind": "PPO", "observations": [{"term": "lidar"}, ...]}'
        ) from error


def read_policy(path: Path) -> Tuple[Policy, PolicyCard]:
    """Return the policy in a file, and its card.

    Raise ``SpecError`` for an invalid file, and ``MissingDependencyError``.
    """
    card = read_card(path)
    size = ObservationEncoder(card.terms).size
    if path.suffix == OWN:
        return _read_native_policy(path, card, size), card
    require_regular(path, SpecError)
    if path.suffix == ONNX:
        return _OnnxPolicy(path, size), card
    return _StableBaselinesPolicy(path, card.kind, size), card


def _read_native_policy(path: Path, card: PolicyCard, size: int) -> Policy:
    if card.kind not in KINDS:
        raise SpecError(f"{path}: {unknown_name('kind of policy', card.kind, KINDS)}")
    try:
        return KINDS[card.kind](_read_arrays(path)[0], size, card.hidden)
    except ValueError as error:
        raise SpecError(f"{path}: {error}; train the policy again") from error


def _read_arrays(path: Path) -> Tuple[np.ndarray, str]:
    try:
        arrays = read_arrays(path)
        return arrays[WEIGHTS], str(arrays[CARD])
    except Exception as error:  # readers of archives raise errors of many types
        raise SpecError(
            f"{path}: the file is damaged or is not a policy ({error}); train the policy again, or "
            "restore the file"
        ) from error


def _parse_card(text: str, path: Path) -> PolicyCard:
    try:
        return PolicyCard.model_validate_json(text)
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, fault['loc']))} {fault['msg']}" for fault in error.errors())
        raise SpecError(f"{path}: the policy's card: {'; '.join(faults)}") from error


class _OnnxPolicy(Policy):
    """An ONNX network with one input of shape (1, n) and one output of shape (1, 2)."""

    def __init__(self, path: Path, size: int) -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise MissingDependencyError(
                f"{path}: the policy needs onnxruntime, which cannot be imported ({error}); "
                "install it with python3 -m pip install onnxruntime"
            ) from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = (
            1  # results are then identical, bit by bit
        )
        try:
            self._session = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime raises many exception types
            raise SpecError(
                f"{path}: the file is not a valid ONNX model ({error}); export the model again"
            ) from error
        (model_input,) = self._session.get_inputs()[:1]
        length = model_input.shape[-1] if model_input.shape else None
        if isinstance(length, int) and length != size:
            raise SpecError(
                f"{path}: the input of the model has {length} numbers, but the observations in "
                f"its card have {size}; correct the card"
            )
        self._input = model_input.name

    def act(self, vector: np.ndarray) -> np.ndarray:
        batch = np.asarray(vector, dtype=np.float32)[None]
        return _to_action(self._session.run(None, {self._input: batch})[0])


class _StableBaselinesPolicy(Policy):
    """A policy that ``model.save`` of Stable-Baselines3 wrote. It acts deterministically."""

    def __init__(self, path: Path, algorithm: str, size: int) -> None:
        with importing(f"{path}: the policy needs Stable-Baselines3", "train"):
            import stable_baselines3
            import torch
        algorithm_class = getattr(stable_baselines3, algorithm, None)
        if algorithm_class is None:
            raise SpecError(
                f"{path}: Stable-Baselines3 has no algorithm {algorithm!r}; correct `kind` in the "
                "card"
            )
        torch.set_num_threads(1)  # results are then identical, bit by bit
        try:
            self._model = algorithm_class.load(path, device="cpu")
        except Exception as error:  # reading a foreign archive can raise any exception
            raise SpecError(
                f"{path}: {algorithm} of Stable-Baselines3 cannot read the file ({error})"
            ) from error
        shape = self._model.observation_space.shape
        if shape != (size,):
            raise SpecError(
                f"{path}: the input of the model has shape {shape}, but the observations in its "
                f"card have ({size},); correct the card"
            )
        actions = self._model.action_space
        bounds = (getattr(actions, "low", None), getattr(actions, "high", None))
        if actions.shape != (ACTIONS,) or not np.array_equal(bounds, [[-1, -1], [1, 1]]):
            raise SpecError(
                f"{path}: the actions of the model are {actions}; they must be {ACTIONS} numbers "
                "from -1 to 1"
            )

    def act(self, vector: np.ndarray) -> np.ndarray:
        return _to_action(self._model.predict(vector, deterministic=True)[0])


def _to_action(output: Any) -> np.ndarray:
    # The caller rejects an output with fewer numbers.
    return np.asarray(output, dtype=float).ravel()[:ACTIONS]
