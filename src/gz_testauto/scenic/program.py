"""Compiles a scenario with the library of its models, and says of a fault where it stands.

Owns the way from a ``.scenic`` file to a Scenic ``Scenario``: the library is put in front, what
needs time is refused, and whatever Scenic or the program raises becomes a ``SpecError`` with file
and line. Imports Scenic when it compiles, which takes seconds the first time.
"""

import contextlib
import re
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any, Callable, Iterator, List, Mapping, Optional, Sequence, Tuple

from gz_testauto.errors import GzTestautoError, MissingDependencyError, SpecError
from gz_testauto.scenic.dynamic.draws import GlobalDraws
from gz_testauto.scenic.dynamic.turns import end_acting
from gz_testauto.scenic.library import MODULE, PlacedModel, library_text

_GZSCENIC = "gzscenic"
_MENTIONS_DEFAULT = re.compile(r"\b(workspace|create_room|gzscenic)\b")
_SETS_WORKSPACE = re.compile(r"^\s*workspace\s*=", re.MULTILINE)
_TRACKED = re.compile(r"\s*(ego|workspace)\s*=")
_OBJECT = f"\nfrom {__package__}.scene_objects import SceneObject as Object\n"
_LINE_ADDED = 1
"""The first line is ours: it brings the library."""
_FORGOTTEN = re.compile(r"""forgot ['"]new""")
_FROM_EVERYWHERE = re.compile("sample from everywhere", re.IGNORECASE)
_NO_FILE = re.compile(r"string is not a file: `(.*)`")
_HINT = "; if it was written for Scenic 2: gz_testauto scenic --convert {path}"


class Program:
    """A compiled scenario. ``notes`` says what of it has no effect, each with file and line."""

    def __init__(self, path: Path, scenario: Any, notes: Tuple[str, ...]) -> None:
        self.path = path
        self.scenario = scenario
        self.notes = notes

    def line(self, line: int) -> int:
        """The line of the user's file for one of Scenic's."""
        return max(1, line - _LINE_ADDED)


def require_scenic() -> None:
    """Raise ``MissingDependencyError`` unless Scenic 3 is installed."""
    hook = sys.excepthook
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import scenic
    except ImportError as error:
        raise MissingDependencyError(
            f"scenarios need Scenic 3 ({error}): python3 -m pip install 'gz_testauto[scenic]'"
        ) from error
    finally:
        sys.excepthook = hook  # Scenic sets its own
    if not hasattr(scenic, "scenarioFromFile"):
        raise MissingDependencyError(
            f"{scenic.__file__} is not Scenic 3: python3 -m pip install 'gz_testauto[scenic]'"
        )


def compile_program(
    path: Path,
    models: Mapping[str, PlacedModel],
    seed: int,
    parameters: Mapping[str, Any],
    scenario: Optional[str] = None,
    pruning: bool = True,
    dynamic: bool = False,
) -> Program:
    """Compile a scenario. What it draws by Python itself (``random``) depends on ``seed``.

    ``scenario`` chooses one of several in the file; ``dynamic``: it is to act in trials.
    Raises ``SpecError`` with file and line, of it ``UnknownNameError`` for one of ``parameters``
    that the scenario does not have, or ``MissingDependencyError`` without Scenic.
    """
    require_scenic()
    end_acting()
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not UTF-8; save the file as UTF-8"
        raise SpecError(f"{path}: cannot be read: {reason}") from error
    from gz_testauto.scenic.language.parameters import ScenarioParameters

    known = ScenarioParameters()
    notes = _examine(path, text, dynamic, known)
    implied = bool(_MENTIONS_DEFAULT.search(text)) and not _SETS_WORKSPACE.search(text)
    library = library_text(models, implied, dynamic)
    source = f"model {MODULE}\n{text}"
    drawing = GlobalDraws.seeded(seed)
    with _importable(library), located(path), warnings.catch_warnings(), drawing.going_on():
        warnings.simplefilter("ignore")
        compiled = _compile(source, path, parameters, scenario, pruning, known)
    known.check(parameters, str(path))
    _refuse_after_compiling(path, compiled, dynamic)
    return Program(path, compiled, notes)


def _compile(
    source: str,
    path: Path,
    parameters: Mapping[str, Any],
    scenario: Optional[str],
    pruning: bool,
    known: Any,
) -> Any:
    import io

    from scenic.syntax import translator

    from gz_testauto.scenic import scene_objects

    scene_objects.begin_scenario(str(path), _LINE_ADDED)
    before = translator.usePruning, translator.preamble, translator.ScenicLoader.exec_module
    translator.usePruning = pruning
    translator.ScenicLoader.exec_module = _examining(before[2], known)
    translator.preamble += _OBJECT  # of every module: also those that the scenario imports
    try:
        options = translator.CompileOptions(paramOverrides=dict(parameters))
        return translator._scenarioFromStream(
            io.BytesIO(source.encode()), options, str(path), scenario=scenario, path=str(path)
        )
    finally:
        translator.usePruning, translator.preamble = before[:2]
        translator.ScenicLoader.exec_module = before[2]


def _examine(path: Path, text: str, dynamic: bool, known: Any) -> Tuple[str, ...]:
    from gz_testauto.scenic.refusals import examine

    tree = _parse(path, text)
    known.add(tree)
    refused, idle = examine(tree, dynamic)
    _refuse(path, refused)
    return tuple(f"{path}:{place.line}: {place.text}" for place in idle)


def _examining(load: Callable[[Any, Any], None], known: Any) -> Callable[[Any, Any], None]:
    """Scenic's way to load a module that a program imports, which looks at it before and adds its
    parameters to those that are known."""
    from gz_testauto.scenic.refusals import examine_imported

    def load_examined(loader: Any, module: Any) -> None:
        path = Path(loader.filepath)
        tree = _parse(path, path.read_text(encoding="utf-8"))
        known.add(tree)
        _refuse(path, examine_imported(tree))
        load(loader, module)

    return load_examined


def _parse(path: Path, text: str) -> Any:
    from scenic.syntax.parser import parse_string

    with located(path, added=0):
        return parse_string(
            text if text.endswith("\n") else text + "\n", "exec", filename=str(path)
        )


def _refuse(path: Path, refused: Sequence[Tuple[int, str]]) -> None:
    if refused:
        raise SpecError("\n".join(f"{path}:{line}: {text}" for line, text in refused))


def _refuse_after_compiling(path: Path, compiled: Any, dynamic: bool) -> None:
    """What an imported module brought in."""
    if compiled.externalSampler is not None:
        raise SpecError(
            f"{path}: draws from VerifAI, whose draws depend on those before; use Range or Uniform"
        )
    if dynamic:
        _require_robot_for_ego(path, compiled)
        return
    for requirement in compiled.requirements:
        if requirement.proposition.has_temporal_operator:
            raise SpecError(f"{path}: {requirement} is about time; worlds are scenes at one moment")
    if compiled.monitors:
        raise SpecError(f"{path}: `require monitor` is about time; remove it")
    for found in compiled.objects:
        if found.behavior is not None:
            raise SpecError(
                f"{path}: a {type(found).__name__} has a behavior, and here nothing acts; remove it"
            )


def _require_robot_for_ego(path: Path, compiled: Any) -> None:
    """Of a program that acts: the ego is the robot, which the planner drives."""
    ego = compiled.egoObject
    if ego is None:
        raise SpecError(
            f"{path}: has no ego, and in a dynamic scenario that is the robot; write `ego = new "
            "...` of the mission item that worlds.mission.start names"
        )
    if ego.behavior is not None:
        raise SpecError(
            f"{path}: the ego has a behavior, and the planner under test drives it; remove it"
        )


@contextlib.contextmanager
def _importable(library: str) -> Iterator[None]:
    """While inside, the library can be imported, also by GzScenic's name."""
    with tempfile.TemporaryDirectory(prefix="gz_testauto_") as place:
        (Path(place) / f"{MODULE}.scenic").write_text(library, encoding="utf-8")
        alias = Path(place) / _GZSCENIC
        alias.mkdir()
        (alias / "__init__.py").write_text("")
        (alias / "model.scenic").write_text(f"from {MODULE} import *\n", encoding="utf-8")
        before = {name for name in sys.modules if name.split(".")[0] == _GZSCENIC}
        sys.path.insert(0, place)
        try:
            yield
        finally:
            sys.path.remove(place)
            sys.path_importer_cache.pop(place, None)
            for name in list(sys.modules):
                if name.split(".")[0] == _GZSCENIC and name not in before:
                    del sys.modules[name]


@contextlib.contextmanager
def located(path: Path, added: int = _LINE_ADDED) -> Iterator[None]:
    """Turn what Scenic or the program raises into a ``SpecError`` with file and line."""
    try:
        yield
    except GzTestautoError:
        raise
    except Exception as error:
        if _FROM_EVERYWHERE.search(str(error)):
            raise SpecError(
                f"{path}: something is drawn from everywhere: define a workspace, as "
                "`workspace = Workspace(RectangularRegion(0 @ 0, 0, 10, 10))`"
            ) from error
        ours = not type(error).__module__.startswith("scenic.")
        if ours and _place_of(path, error)[1] is None:
            raise  # neither Scenic nor the program raised it
        raise SpecError(located_message(path, error, added)) from error


def located_message(path: Path, error: BaseException, added: int = _LINE_ADDED) -> str:
    """What a fault of a program says, with file and line."""
    file, line = _place_of(path, error)
    if line is not None and file == str(path):
        line = line - added if line > added else _tracked_line(path)
    text = str(getattr(error, "msg", None) or error or type(error).__name__).strip()
    missing = _NO_FILE.search(text)
    if missing:
        name = missing.group(1)
        text = (
            f"{name!r} is not a file, seen from {Path.cwd()}; to look beside the scenario write "
            f"localPath({name!r})"
        )
    text = re.sub(
        r"\b(on )?line (\d+)",
        lambda m: f"{m.group(1) or ''}line {max(1, int(m.group(2)) - added)}",
        text,
    )
    if not missing and not type(error).__module__.startswith("scenic."):
        text = f"{type(error).__name__}: {text}"
    hint = ""
    if type(error).__name__ in ("ScenicParseError", "PythonCompileError") or _FORGOTTEN.search(
        text
    ):
        hint = _HINT.format(path=path)
    place = file if line is None else f"{file}:{line}"
    return f"{place}: {text}{hint}"


def _tracked_line(path: Path) -> Optional[int]:
    """The line of the first assignment to ``ego`` or ``workspace``: of these Scenic says none."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if _TRACKED.match(line):
                return number
    return None


def _place_of(path: Path, error: BaseException) -> Tuple[str, Optional[int]]:
    """The file and line of the program where an error arose; the line None where none is known."""
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
        if frame.filename.endswith((".scenic", ".sc")) and MODULE not in frame.filename:
            return frame.filename, frame.lineno
    return str(path), None
