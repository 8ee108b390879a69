"""Numbers in the messages of any topic, selected by a field's path in the message.

Reads these fields and reduces the values of a trial to one number. The publisher defines the type
of the messages.
"""

import math
import re
import threading
from typing import List, Optional

import numpy as np
import roslib.message
import rospy

from gz_testauto.base.errors import SpecError
from gz_testauto.spec.stack import NumberTopicSpec

REDUCTIONS = {"last": lambda v: v[-1], "mean": np.mean, "max": np.max, "min": np.min, "sum": np.sum}


class NumberTopic:
    """The values of a topic since :meth:`begin`."""

    def __init__(self, spec: NumberTopicSpec) -> None:
        self._spec = spec
        self._values: List[float] = []
        self._lock = threading.Lock()
        self._fault = ""
        self._class: Optional[type] = None
        self._subscriber = rospy.Subscriber(
            spec.topic, rospy.AnyMsg, self._on_message, queue_size=1000
        )

    def begin(self) -> None:
        """Discard all values."""
        with self._lock:
            self._values = []

    @property
    def values(self) -> np.ndarray:
        """All values so far, shape (n,). Raises ``SpecError`` if received messages lack the
        field."""
        if self._fault:
            raise SpecError(self._fault)
        with self._lock:
            return np.array(self._values, dtype=float)

    def reduced(self, reduce: str) -> float:
        """Return one number for all values, or NaN without values."""
        values = self.values
        return float(REDUCTIONS[reduce](values)) if len(values) else math.nan

    def _on_message(self, raw: rospy.AnyMsg) -> None:
        if self._fault:
            return
        try:
            value = field_value(self._decode(raw), self._spec.field)
        except SpecError as error:
            self._fault = f"topic {self._spec.topic}: {error}"
            return
        with self._lock:
            self._values.append(value)

    def _decode(self, raw: rospy.AnyMsg) -> object:
        if not isinstance(raw, rospy.AnyMsg):
            return raw  # rospy has one type per topic, and this process has subscribed with it
        if self._class is None:
            name = self._spec.type or raw._connection_header["type"]
            self._class = roslib.message.get_message_class(name)
            if self._class is None:
                raise SpecError(
                    f"the message type {name} is not installed on this machine; build its package"
                )
        return self._class().deserialize(raw._buff)


def field_value(message: object, field: str) -> float:
    """Return the number at ``field`` (``data``, ``pose.position.x``, ``values[0]``) of a message.
    Raises ``SpecError`` with the names of the existing fields."""
    value = message
    for part in field.split("."):
        name = part.partition("[")[0]
        slots = getattr(value, "__slots__", ())
        if name not in slots:
            kind = getattr(value, "_type", type(value).__name__)
            raise SpecError(f"{kind} has no field {name!r}. Known: {', '.join(slots) or 'none'}")
        value = getattr(value, name)
        position = re.search(r"\[(\d+)\]$", part)
        if position is not None:
            if int(position.group(1)) >= len(value):
                return math.nan
            value = value[int(position.group(1))]
    if hasattr(value, "to_sec"):
        return float(value.to_sec())
    if not isinstance(value, (bool, int, float)):
        raise SpecError(f"field {field!r} is not a number but a {type(value).__name__}")
    return float(value)
