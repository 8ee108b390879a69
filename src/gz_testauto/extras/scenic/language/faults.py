"""Error messages for Scenic programs, with file, line and remedy."""

import contextlib
import difflib
import re
import traceback
from pathlib import Path
from typing import Any, Iterator, List, Optional, Tuple

from gz_testauto.base.errors import GzTestautoError, SpecError

LIBRARY = "gz_testauto_scenario_library"  # generated module with the models' classes
LINE_ADDED = 1  # lines before the program that import the models' classes
_FORGOTTEN = re.compile(r"""forgot ['"]new""")
_FROM_EVERYWHERE = re.compile("sample from everywhere", re.IGNORECASE)
_NO_FILE = re.compile(r"string is not a file: `(.*)`")
_NO_NAME = re.compile(r"name '(\w+)' is not defined")
_OUTSIDE = re.compile(r"Object at .* does not fit in container")
_WITHOUT_LINE = {
    "GEOSException": "a position or size is not finite; use numbers in meters",
    "RecursionError": "an expression is nested too deep; divide it into several statements",
}
"""Clearer messages for exceptions of libraries at an unknown line."""
_HINT = "; if it was written for Scenic 2: gz_testauto scenic --convert {path}"
_NO_MODULE = (
    "; modules are searched next to the scenario and in PYTHONPATH; the models of the descriptor "
    "need neither `model` nor `import`"
)


@contextlib.contextmanager
def located(path: Path, added: int = LINE_ADDED) -> Iterator[None]:
    """Convert exceptions to ``SpecError`` with file and, if known, line.

    Use it only around code that Scenic or the program evaluates, and around tests of drawn values.
    Each exception in it, also ``SystemExit``, is reported as an error of the program.
    """
    try:
        yield
    except GzTestautoError:
        raise
    except (Exception, SystemExit) as error:
        if _FROM_EVERYWHERE.search(str(error)):
            raise SpecError(
                f"{path}: a position is drawn from an unlimited region; define a workspace, such "
                "as `workspace = Workspace(RectangularRegion(0 @ 0, 0, 10, 10))`"
            ) from error
        raise SpecError(located_message(path, error, added)) from error


def located_message(path: Path, error: BaseException, added: int = LINE_ADDED) -> str:
    """Return a message with file, line, error and a hint. ``added`` lines precede the program."""
    file, line = _place_of(path, error, added)
    if isinstance(error, SystemExit):
        text = f"the program calls sys.exit({error.code!r}); remove the call"
        return f"{_place_text(file, line)}: {text}"
    reason = _WITHOUT_LINE.get(type(error).__name__)
    if line is None and reason is not None:
        return f"{file}: {reason}"
    text = str(getattr(error, "msg", None) or error).strip() or type(error).__name__
    text = re.sub(r"\s*\n\s*", " ", text)
    missing = _NO_FILE.search(text)
    if missing:
        name = missing.group(1)
        text = (
            f"{name!r} is not a file; correct the path"
            if Path(name).is_absolute()
            else f"{name!r} is not a file in {Path.cwd()}; for a path relative to the scenario, "
            f"write localPath({name!r})"
        )
    elif _OUTSIDE.search(text):
        text = _outside_region_text(error, text)
    text = re.sub(
        r"\b(on )?line (\d+)",
        lambda m: f"{m.group(1) or ''}line {max(1, int(m.group(2)) - added)}",
        text,
    )
    is_from_scenic = type(error).__module__.startswith("scenic.")
    if not (missing or is_from_scenic or text == type(error).__name__):
        text = f"{type(error).__name__}: {text}"
    hint = ""
    if type(error).__name__ in ("ScenicParseError", "PythonCompileError") or _FORGOTTEN.search(
        text
    ):
        hint = _HINT.format(path=path)
    elif isinstance(error, ModuleNotFoundError) or text.startswith("could not import world model"):
        hint = _NO_MODULE
    elif isinstance(error, NameError):
        hint = _similar_name_hint(error, text)
    return f"{_place_text(file, line)}: {text}{hint}"


def _place_text(file: str, line: Optional[int]) -> str:
    return file if line is None else f"{file}:{line}"


def _outside_region_text(error: BaseException, text: str) -> str:
    for frame, _ in traceback.walk_tb(error.__traceback__):
        obj = frame.f_locals.get("oi")
        if obj is not None:
            where = "the workspace" if obj.regionContainedIn is None else "its region"
            return f"{obj} at {obj.position} is not within {where}"
    return text


def _similar_name_hint(error: BaseException, text: str) -> str:
    missing = _NO_NAME.search(text)
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    if not missing or not frames:
        return ""
    known = {name.lower(): name for name in frames[-1].f_globals if not name.startswith("_")}
    similar = difflib.get_close_matches(missing.group(1).lower(), list(known), n=1)
    return f"; did you mean {known[similar[0]]!r}?" if similar else ""


def _place_of(path: Path, error: BaseException, added: int) -> Tuple[str, Optional[int]]:
    """Return the file and, if known, the line that caused an exception."""
    file, line = _raising_place(path, error)
    if line is None:
        return _place_of_object(error) or (file, None)
    return file, max(1, line - added) if file == str(path) else line


def _raising_place(path: Path, error: BaseException) -> Tuple[str, Optional[int]]:
    line = getattr(error, "lineno", None)
    if line is not None:
        return str(getattr(error, "filename", None) or path), int(line)
    frames: List[Any] = list(traceback.extract_tb(error.__traceback__))
    location = getattr(error, "_scenic_location", None)
    if location is not None:
        frames.append(location)
    names = {str(path), str(path.resolve())}
    for frame in reversed(frames):
        if frame.filename in names:
            return str(path), frame.lineno
        if frame.filename.endswith((".scenic", ".sc")) and LIBRARY not in frame.filename:
            return frame.filename, frame.lineno
    return str(path), None


def _place_of_object(error: BaseException) -> Optional[Tuple[str, int]]:
    """Return the file and line of the object whose value raised an exception while Scenic drew it,
    or None."""
    for frame, _ in reversed(list(traceback.walk_tb(error.__traceback__))):
        attributes = getattr(frame.f_locals.get("self"), "__dict__", {})
        # a drawn object is a copy
        original = getattr(attributes.get("_sampleParent"), "__dict__", attributes)
        place = original.get("_place")
        if isinstance(place, str):
            file, _, line = place.rpartition(":")
            return file, int(line)
    return None
