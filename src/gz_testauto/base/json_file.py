"""JSON that others may have written, read with everything that can be wrong with it.

Owns turning a file into plain values of a stated shape, and saying of a file that is damaged
where. What the values mean is said where the shapes are.
"""

import functools
import json
from pathlib import Path
from typing import Any, Dict, Type, TypeVar

from pydantic import TypeAdapter, ValidationError

from gz_testauto.base.disk import read_file
from gz_testauto.base.errors import GzTestautoError

Shape = TypeVar("Shape")


def read_json_object(path: Path, error_class: Type[GzTestautoError]) -> Dict[str, Any]:
    """The object that a JSON file holds. Raises ``error_class`` for any other content."""
    try:
        content = json.loads(read_file(path).decode("utf-8"))
    except OSError as error:
        raise error_class(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise error_class(f"{path}: cannot be read: {error}") from error
    except RecursionError:
        raise error_class(f"{path}: cannot be read: it is nested too deep") from None
    if not isinstance(content, dict):
        raise error_class(f"{path}: is damaged: holds no JSON object")
    return content


def validate_as(
    shape: Type[Shape], values: Any, where: str, error_class: Type[GzTestautoError]
) -> Shape:
    """``values`` as a ``shape``, a dataclass or another type with annotations.

    Raises ``error_class`` that begins with ``where`` and names the first field that is wrong.
    """
    try:
        return _adapter(shape).validate_python(values)  # type: ignore[no-any-return, arg-type]
    except ValidationError as invalid:
        fault = invalid.errors(include_url=False)[0]
        field = ".".join(map(str, fault["loc"]))
        said = f"{field}: {fault['msg']}" if field else fault["msg"]
        raise error_class(f"{where}: is damaged: {said}") from None


@functools.lru_cache(maxsize=32)
def _adapter(shape: Any) -> Any:
    return TypeAdapter(shape)
