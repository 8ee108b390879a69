"""Read and validate JSON from untrusted sources."""

import functools
import json
import math
from pathlib import Path
from typing import Any, Dict, Optional, Type, TypeVar

from pydantic import TypeAdapter, ValidationError

from gz_testauto.base.disk import read_input
from gz_testauto.base.errors import GzTestautoError

Shape = TypeVar("Shape")


MOST_JSON_BYTES = 10_000_000  # parsing needs up to 25 times this memory

# The remedy for a damaged file that no command can write again.
RESTORE = "restore the file from a copy"


def finite_or_none(value: Optional[float]) -> Optional[float]:
    """Return the number, or None instead of NaN and infinity, which JSON lacks."""
    return None if value is None or not math.isfinite(value) else float(value)


def read_json_object(
    path: Path, error_class: Type[GzTestautoError], most_bytes: int = MOST_JSON_BYTES
) -> Dict[str, Any]:
    """Return the object in a JSON file, or raise ``error_class``."""
    try:
        content = json.loads(read_input(path, error_class, most_bytes).decode("utf-8"))
    except ValueError as error:
        raise error_class(f"{path}: the file cannot be read: {error}; {RESTORE}") from error
    except RecursionError:
        raise error_class(
            f"{path}: the file cannot be read: it is nested too deep; {RESTORE}"
        ) from None
    if not isinstance(content, dict):
        raise error_class(
            f"{path}: the file is damaged: it does not contain a JSON object; {RESTORE}"
        )
    return content


def validate_as(
    shape: Type[Shape],
    values: Any,
    location: str,
    error_class: Type[GzTestautoError],
    remedy: str = RESTORE,
) -> Shape:
    """Return ``values`` converted to the type ``shape``. Raises ``error_class`` with the first
    invalid field."""
    try:
        return _adapter(shape).validate_python(values)  # type: ignore[no-any-return, arg-type]
    except ValidationError as invalid:
        fault = _first_fault(invalid)
        raise error_class(f"{location}: the file is damaged: {fault}; {remedy}") from None


def parse_entry(
    shape: Type[Shape], line: bytes, location: str, error_class: Type[GzTestautoError], remedy: str
) -> Shape:
    """Return a line of JSON converted to the type ``shape``. Raises ``error_class``, with
    ``location`` and ``remedy`` in its message, if the line does not have that type."""
    try:
        return _adapter(shape).validate_python(json.loads(line))  # type: ignore[no-any-return, arg-type]
    except ValidationError as invalid:
        fault = _first_fault(invalid)
    except ValueError as error:
        fault = str(error)
    except RecursionError:
        fault = "it is nested too deep"
    raise error_class(f"{location}: the entry is damaged: {fault}; {remedy}")


def _first_fault(invalid: ValidationError) -> str:
    fault = invalid.errors(include_url=False)[0]
    field = ".".join(map(str, fault["loc"]))
    is_object = fault["type"] == "dataclass_type"  # whose message contains the name of the class
    message = "Input should be a JSON object" if is_object else str(fault["msg"])
    return f"{field}: {message}" if field else message


@functools.lru_cache(maxsize=32)
def _adapter(shape: Any) -> Any:
    return TypeAdapter(shape)
