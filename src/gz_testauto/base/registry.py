"""Find planners, simulators, behaviors, metrics, verbs and other plug-ins by name.

A name is looked up among the built-ins, then in the extras of this package, then in the
``<export>`` of other ROS packages' ``package.xml``, and finally among Python entry points, which a
catkin devel space can hide.

An extra is a directory in ``gz_testauto/extras/`` with an ``entry_points.txt``. Its modules are
imported only when one of their plug-ins is requested.

In another ROS package::

    <depend>gz_testauto</depend>
    <export><gz_testauto planners="my_pkg.planners:PLANNERS"/></export>

In a Python package's ``pyproject.toml``::

    [project.entry-points."gz_testauto.planners"]
    my_planner = "my_pkg.planners:MyPlanner"

The reference names a class, or a mapping from names to classes.
"""

import ast
import configparser
import contextlib
import difflib
import importlib
import importlib.util
import logging
import re
import sys
from functools import lru_cache, partial
from importlib import metadata
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Tuple

from lxml import etree

from gz_testauto.base.errors import (
    GzTestautoError,
    MissingDependencyError,
    PluginError,
    UnknownNameError,
)
from gz_testauto.base.installation import install_command
from gz_testauto.base.ros_packages import read_manifest, ros_packages
from gz_testauto.base.truncation import join_truncated

LOGGER = logging.getLogger(__name__)

LISTED = 20  # largest number of names in the message for an unknown name
Loader = Callable[[], Any]


EXTRAS = Path(__file__).resolve().parents[1] / "extras"


def load_object(reference: str) -> Any:
    """Import ``"module.path:attribute"`` or ``"module.path"``, and return the object."""
    module_name, _, attribute = reference.partition(":")
    module = importlib.import_module(module_name)
    return getattr(module, attribute) if attribute else module


@lru_cache(maxsize=None)
def extra_plugins() -> Mapping[str, Mapping[str, Tuple[str, str]]]:
    """Return the plug-ins of the extras in this package, by group and name, each with the name of
    its extra and its reference ``"module:attribute"``."""
    plugins: Dict[str, Dict[str, Tuple[str, str]]] = {}
    for path in sorted(EXTRAS.glob("*/entry_points.txt")):
        entry_points = configparser.ConfigParser(delimiters=("=",), interpolation=None)
        # Preserve the case of names.
        entry_points.optionxform = str  # type: ignore[assignment, method-assign]
        entry_points.read_string(path.read_text(encoding="utf-8"))
        for group in entry_points.sections():
            for name, reference in entry_points[group].items():
                plugins.setdefault(group, {})[name] = (path.parent.name, reference)
    return plugins


class Registry:
    """The plug-ins of one kind, by name.

    ``kind`` is a noun such as ``"planner"``. ``builtins`` maps names to references
    ``"module:attribute"``, which are imported only when the plug-in is requested.
    """

    def __init__(self, kind: str, builtins: Mapping[str, str]) -> None:
        self.kind = kind
        self._group = f"gz_testauto.{kind.replace(' ', '_')}s"
        self._extras = extra_plugins().get(self._group, {})
        self._references = {
            **{name: reference for name, (_, reference) in self._extras.items()},
            **builtins,
        }
        self._loaders: Dict[str, Loader] = {
            name: partial(load_object, reference) for name, reference in self._references.items()
        }
        self._discovered = False
        self._broken: List[str] = []
        """Messages about exports of other packages that cannot be imported."""

    def register(self, name: str, plugin: Any) -> None:
        """Add a plug-in. Raises ``ValueError`` if the name is already registered."""
        if name in self._loaders:
            raise ValueError(f"{self.kind} {name!r} is already registered")
        self._loaders[name] = partial(_return_plugin, plugin)

    def names(self) -> List[str]:
        self._discover()
        return sorted(self._loaders)

    def get(self, name: str) -> Any:
        """Return the plug-in with a name.

        Raises ``UnknownNameError``, ``MissingDependencyError`` for a missing import of the plug-in,
        and ``PluginError`` for any other exception of its module.
        """
        if name not in self._loaders:
            self._discover()
        if name not in self._loaders:
            message = unknown_name(self.kind, name, self._loaders)
            if not _similar(name, self._loaders):
                message += (
                    f". If {name!r} is in another package, install that package for the Python in "
                    f"use ({sys.executable}), or source its ROS workspace"
                )
            raise UnknownNameError(". ".join([message, *self._broken]))
        try:
            with self.requiring(name):
                return self._loaders[name]()
        except (GzTestautoError, ModuleNotFoundError):
            raise
        except Exception as error:  # a plug-in's module can raise any exception
            raise PluginError.of(f"{self.kind} {name!r} cannot be loaded", error) from error

    @contextlib.contextmanager
    def requiring(self, name: str) -> Iterator[None]:
        """Convert ``ModuleNotFoundError`` in the block, which loads the plug-in ``name``, to
        ``MissingDependencyError``. For an extra, the message has the command that installs it."""
        try:
            yield
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("gz_testauto."):
                raise  # a module of this package is missing, which is a bug
            extra = self._extras[name][0] if name in self._extras else ""
            remedy = f": {install_command(extra)}" if extra else ""
            raise MissingDependencyError(
                f"{self.kind} {name!r} cannot be loaded: {error}{remedy}"
            ) from error

    def outline(self, name: str, constant: str) -> Tuple[str, Any]:
        """Return the first line of the docstring of a plug-in that is a module, and the value of
        its constant ``constant``, or None without it. A built-in or an extra is not imported."""
        if name not in self._references:
            module = self.get(name)
            return str(module.__doc__ or "").partition("\n")[0], getattr(module, constant, None)
        spec = importlib.util.find_spec(self._references[name])
        source = getattr(spec.loader, "get_source")(spec.name) if spec else ""  # noqa: B009
        text = ast.get_docstring(ast.parse(source or "")) or ""
        value = re.search(rf"^{constant} = (.+)$", source or "", re.MULTILINE)
        return text.partition("\n")[0], value and ast.literal_eval(value[1])

    def _discover(self) -> None:
        if self._discovered:
            return
        self._discovered = True
        for name, loader in (*self._from_ros_packages(), *self._from_entry_points()):
            self._loaders.setdefault(name, loader)

    def _from_entry_points(self) -> Iterator[Tuple[str, Loader]]:
        entry_points = metadata.entry_points()
        points = (
            entry_points.select(group=self._group)
            if hasattr(entry_points, "select")
            else entry_points.get(self._group, ())
        )
        for point in points:
            yield point.name, point.load

    def _from_ros_packages(self) -> Iterator[Tuple[str, Loader]]:
        for _, directory in sorted(ros_packages().items()):
            manifest = directory / "package.xml"
            for reference in _exported_references(directory, self._group.partition(".")[2]):
                try:
                    plugin = load_object(reference)
                except Exception as error:  # a plug-in's module can raise any exception
                    # One broken package does not affect the plug-ins of other packages.
                    self._broken.append(
                        f"{manifest} exports {self.kind}s that cannot be loaded: "
                        f"{reference}: {_one_line(error)}"
                    )
                    LOGGER.warning("%s", self._broken[-1])
                    continue
                mapping = plugin if isinstance(plugin, Mapping) else {plugin.__name__: plugin}
                for name, value in mapping.items():
                    yield name, partial(_return_plugin, value)


def _exported_references(directory: Path, attribute: str) -> List[str]:
    # The manifest is read here, since rospkg requires a configured rosdep for it.
    try:
        root = read_manifest(directory)
    except (OSError, etree.XMLSyntaxError):
        return []  # catkin reports it when that package is built
    references = (element.get(attribute) for element in root.iterfind("export/gz_testauto"))
    return [reference for reference in references if reference]


def _one_line(error: Exception) -> str:
    if isinstance(error, ImportError):
        return str(error)
    return f"{type(error).__name__}: {error}".partition("\n")[0]


def _return_plugin(plugin: Any) -> Any:
    return plugin


def _similar(name: str, names: Iterable[str]) -> List[str]:
    return difflib.get_close_matches(name, list(names), n=1)


def unknown_name(kind: str, name: str, names: Any) -> str:
    similar_names = _similar(name, names)
    hint = f"; did you mean {similar_names[0]!r}?" if similar_names else "."
    return f"unknown {kind} {name!r}{hint} Known: {join_truncated(sorted(names), LISTED) or 'none'}"
