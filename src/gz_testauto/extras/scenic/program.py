"""Compilation of a Scenic program with the library of its models. The first compilation imports
Scenic, which takes seconds."""

import contextlib
import functools
import re
import sys
import warnings
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Optional, Sequence, Tuple

from gz_testauto.base.disk import read_text
from gz_testauto.base.errors import MissingDependencyError, SpecError
from gz_testauto.base.installation import install_command
from gz_testauto.base.scratch import scratch_directory
from gz_testauto.extras.scenic.dynamic.global_state import GeneratorStates, stop_running_scenario
from gz_testauto.extras.scenic.language.faults import LIBRARY, LINE_ADDED, located
from gz_testauto.extras.scenic.library import PlacedModel, library_text

_GZSCENIC = "gzscenic"
_MENTIONS_DEFAULT = re.compile(r"\b(workspace|create_room|gzscenic)\b")
_SETS_WORKSPACE = re.compile(r"^\s*workspace\s*=", re.MULTILINE)


class Program(NamedTuple):
    """A compiled program, with notes about constructs without effect."""

    path: Path
    scenario: Any
    notes: Tuple[str, ...]


def require_scenic() -> None:
    hook = sys.excepthook
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import greenlet  # noqa: F401
            import scenic
    except ImportError as error:
        raise MissingDependencyError(
            f"Scenic programs need Scenic 3 and greenlet, which cannot be imported ({error}); "
            f"install them with {install_command('scenic')}"
        ) from error
    finally:
        sys.excepthook = hook  # Scenic replaces it
    if not hasattr(scenic, "scenarioFromFile"):
        raise MissingDependencyError(
            f"{scenic.__file__} is not Scenic 3; install Scenic 3 with {install_command('scenic')}"
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
    """Stop the running scenario, and compile a program. Its draws from ``random`` depend on
    ``seed``.

    ``scenario`` is the name of one of several modular scenarios in the file. Raises
    ``UnknownNameError`` for one of ``parameters`` that the program does not have.
    """
    require_scenic()
    stop_running_scenario()
    path = Path(path)
    text = read_text(path, SpecError)
    from gz_testauto.extras.scenic.language.statements import ScenarioParameters

    known = ScenarioParameters()
    notes = _examine_program(path, text, dynamic, known)
    implied = bool(_MENTIONS_DEFAULT.search(text)) and not _SETS_WORKSPACE.search(text)
    library = library_text(models, implied, dynamic)
    source = f"model {LIBRARY}\n{text}"
    states = GeneratorStates.seeded(seed)
    with _importable(library), located(path), warnings.catch_warnings(), states.active():
        warnings.simplefilter("ignore")
        compiled = _compile(source, path, parameters, scenario, pruning, known, library)
    known.check(parameters, str(path))
    _check_compiled(path, compiled, dynamic)
    return Program(path, compiled, notes)


def _compile(
    source: str,
    path: Path,
    parameters: Mapping[str, Any],
    scenario: Optional[str],
    pruning: bool,
    known: Any,
    library: str,
) -> Any:
    import io

    from scenic.syntax import translator

    from gz_testauto.extras.scenic import scene_objects
    from gz_testauto.extras.scenic.language.compiler import adapted_compiler

    scene_objects.begin_scenario(str(path), LINE_ADDED)
    options = translator.CompileOptions(paramOverrides=dict(parameters))
    examined = functools.partial(_examining, known=known, library=library)
    with adapted_compiler(pruning, examined, library):
        return translator._scenarioFromStream(
            io.BytesIO(source.encode()), options, str(path), scenario=scenario, path=str(path)
        )


def _examine_program(path: Path, text: str, dynamic: bool, known: Any) -> Tuple[str, ...]:
    """Raise ``SpecError`` for unsupported statements. Return notes on those without effect, and add
    the parameters of the program to ``known``."""
    from gz_testauto.extras.scenic.language.statements import examine, faulty_records

    tree = _parse(path, text)
    known.add(tree)
    faults, without_effect = examine(tree, dynamic)
    _raise_for(path, [*faults, *(faulty_records(tree) if dynamic else ())])
    return tuple(f"{path}:{place.line}: {place.text}" for place in without_effect)


def recorded_numbers(path: Path) -> Tuple[str, ...]:
    require_scenic()
    from gz_testauto.extras.scenic.language.statements import faulty_records, record_statements

    tree = _parse(path, read_text(path, SpecError))
    _raise_for(path, faulty_records(tree))
    return tuple(name for statement in record_statements(tree) for name in statement.numbers)


def _examining(
    load: Callable[[Any, Any], None], known: Any, library: str
) -> Callable[[Any, Any], None]:
    """Return a replacement for Scenic's function that loads a module. It first checks the module,
    and adds its parameters to ``known``."""
    from gz_testauto.extras.scenic.language.compiler import parse_library
    from gz_testauto.extras.scenic.language.statements import examine_imported

    def load_examined(loader: Any, module: Any) -> None:
        path = Path(loader.filepath)
        text = read_text(path, SpecError)
        tree = parse_library(library) if text == library else _parse(path, text)
        known.add(tree)
        _raise_for(path, examine_imported(tree))
        load(loader, module)

    return load_examined


def _parse(path: Path, text: str) -> Any:
    from scenic.syntax.parser import parse_string

    with located(path, added=0):
        return parse_string(
            text if text.endswith("\n") else text + "\n", "exec", filename=str(path)
        )


def _raise_for(path: Path, faults: Sequence[Tuple[int, str]]) -> None:
    if faults:
        raise SpecError("\n".join(f"{path}:{line}: {text}" for line, text in faults))


def _check_compiled(path: Path, compiled: Any, dynamic: bool) -> None:
    if compiled.externalSampler is not None:
        from gz_testauto.extras.scenic.language.statements import VERIFAI

        raise SpecError(f"{path}: {VERIFAI}")
    if dynamic:
        _require_robot_for_ego(path, compiled)
        return
    for requirement in compiled.requirements:
        if requirement.proposition.has_temporal_operator:
            raise SpecError(
                f"{path}: {requirement} refers to time, but a world describes only one moment; "
                "remove it"
            )
    if compiled.monitors:
        raise SpecError(
            f"{path}: `require monitor` refers to time, but a world describes only one moment; "
            "remove it"
        )
    for obj in compiled.objects:
        if obj.behavior is not None:
            raise SpecError(
                f"{path}: a {type(obj).__name__} has a behavior, which needs "
                "worlds.scenic.dynamic: true in a campaign; set this key, or remove the behavior"
            )


def _require_robot_for_ego(path: Path, compiled: Any) -> None:
    ego = compiled.egoObject
    if ego is None:
        raise SpecError(
            f"{path}: the program has no ego, which represents the robot in a dynamic scenario; "
            "add `ego = new ...` with the class of the mission item worlds.scenic.mission.start"
        )
    if ego.behavior is not None:
        raise SpecError(
            f"{path}: the ego has a behavior, but the planner drives the ego; remove the behavior"
        )


@contextlib.contextmanager
def _importable(library: str) -> Iterator[None]:
    """Make the library importable in this context, also under the name of GzScenic."""
    with scratch_directory() as place:
        (place / f"{LIBRARY}.scenic").write_text(library, encoding="utf-8")
        alias = place / _GZSCENIC
        alias.mkdir()
        (alias / "__init__.py").write_text("")
        (alias / "model.scenic").write_text(f"from {LIBRARY} import *\n", encoding="utf-8")
        before = {name for name in sys.modules if name.split(".")[0] == _GZSCENIC}
        sys.path.insert(0, str(place))
        try:
            yield
        finally:
            sys.path.remove(str(place))
            sys.path_importer_cache.pop(str(place), None)
            for name in list(sys.modules):
                if name.split(".")[0] == _GZSCENIC and name not in before:
                    del sys.modules[name]
