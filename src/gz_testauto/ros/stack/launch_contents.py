"""Find the input files of the launch files of a stack with roslaunch's own loader.

They are part of a campaign's identity, with the files that they name, such as meshes. No program
runs, so the files that a program opens by itself are not found.
"""

import contextlib
import math
import os
import re
import shlex
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple, Union

import yaml
from lxml import etree
from rosgraph.names import ns_join
from roslaunch import substitution_args
from roslaunch.xmlloader import XmlLoader, ifunless_test

from gz_testauto.base.description_files import SUFFIXES, description_files, find_file
from gz_testauto.base.disk import read_file
from gz_testauto.base.xml_file import read_xml
from gz_testauto.results.inputs import NOT_FOLLOWED
from gz_testauto.spec.campaign import StackCampaignSpec
from gz_testauto.spec.stack import PLACEHOLDERS, LaunchSpec
from gz_testauto.trial.launch_files import argument_text, find_launch_file, launches_of

PLANNER_PARAMETERS = ("base_local_planner", "base_global_planner")
"""Parameters of move_base whose values are names of planner plug-ins."""

_DISPLAY_SUFFIXES = {".rviz"}
_PARAMETER_SUFFIXES = {".yaml", ".yml"}
_ASSIGNMENT = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)=(.*)")
_LARGEST_READ_B = 2_000_000
_UNRESOLVED = "{unresolved}"
_NUMBER = "{seed}"  # a number that depends on the trial
_TRIAL_VALUE = re.compile(r"\{(?:unresolved|" + "|".join(PLACEHOLDERS) + r")\}")
_FIND = re.compile(r"\$\(find\s+([\w.-]+)\s*\)")
_WORD = re.compile(r"(?:\$\([^()]*(?:\([^()]*\)[^()]*)*\)|\S)+")


def launch_inputs(spec: StackCampaignSpec) -> Dict[str, Union[Path, str]]:
    """Return the input files by name, without the launch files that the campaign names by path.

    Inputs whose names start with :data:`NOT_FOLLOWED` are texts.
    """
    inputs: Dict[str, Union[Path, str]] = {}
    for location, launch, planners in launches_of(spec):
        file = find_launch_file(launch, location)
        if launch.package is not None:
            inputs[f"launch {launch.named}"] = file
        for planner in planners:
            contents = LaunchContents(file, arguments_of(spec, launch, planner))
            for name, path in contents.named_files().items():
                inputs[f"{location} needs {name}"] = path
            for name, texts in contents.not_followed.items():
                inputs[f"{NOT_FOLLOWED}{location} {name}"] = " ".join(texts)
    return inputs


def arguments_of(spec: StackCampaignSpec, launch: LaunchSpec, planner: str) -> Mapping[str, str]:
    """Return the arguments of a launch file by name. Placeholders that have the same value in all
    trials of ``planner`` are replaced."""
    constant = {
        "robot": spec.robot.name,
        "robot_model": str(spec.robot.model or ""),
        "planner": planner,
        "goal_tolerance": f"{spec.goal.tolerance_m}",
        "control_period": f"{spec.control_period_s}",
    }
    arguments = {}
    for name, value in launch.args.items():
        text = argument_text(value)
        for word, constant_value in constant.items():
            text = text.replace("{" + word + "}", constant_value)
        arguments[name] = text
    return arguments


class LaunchContents:
    """The input files of a launch file that is called with ``arguments``.

    ``not_followed`` are paths and conditions with unknown values, by the name of the containing
    file. ``nodes`` are package and type of each node, and ``missing_packages`` the unknown packages
    of ``$(find)``. ``missing_description_packages`` are those in the conditions and macros of robot
    descriptions, which are not evaluated. ``missing_files`` do not exist although roslaunch reads
    them. ``planners`` are the values of :data:`PLANNER_PARAMETERS` by the full name.
    """

    def __init__(self, file: Path, arguments: Mapping[str, str]) -> None:
        self.files: List[Path] = []
        self.not_followed: Dict[str, List[str]] = {}
        self.nodes: List[Tuple[str, str]] = []
        self.missing_packages: Set[str] = set()
        self.missing_description_packages: Set[str] = set()
        self.missing_files: List[str] = []
        self.planners: Dict[str, str] = {}
        # The package path can have changed since the last call in this process.
        substitution_args._rospack = None
        argv = [f"{name}:={value}" for name, value in arguments.items()]
        # roslaunch reports missing files, and files that are not valid XML, when it starts.
        with contextlib.suppress(Exception):
            _InputFileLoader(self).load(
                str(file), _IgnoredConfiguration(), argv=argv, verbose=False
            )
        for value in arguments.values():
            self.add_words(value, file)

    def named_files(self) -> Dict[str, Path]:
        """Return the files by a name that does not depend on the location of a package."""
        files_by_name: Dict[str, Path] = {}
        for path in self.files:
            name, number = name_of(path), 1
            while files_by_name.get(name, path) != path:
                number += 1
                name = f"{name_of(path)} ({number})"
            files_by_name[name] = path
        return files_by_name

    def note(self, file: Path, text: str) -> None:
        """Record that a text in ``file`` cannot be resolved before the trial."""
        texts = self.not_followed.setdefault(name_of(file), [])
        text = " ".join(text.split())
        if text not in texts:
            texts.append(text)

    def add_words(self, text: str, file: Path, raw: str = "") -> None:
        """Add the existing files that a text in ``file`` names. ``raw`` is the text before
        substitutions."""
        words = list(_words(text))
        for word in words:
            if _TRIAL_VALUE.search(word):
                if word.startswith(("/", "package://", "file://")):
                    self.note(file, raw or text)
                continue
            path = find_file(word)
            if path is not None and os.path.isfile(path):
                self._add(path.resolve(), words)

    def _add(self, path: Path, words: Sequence[str]) -> None:
        """Add an input file and those that it names; ``words`` are arguments of its command."""
        if path in self.files or path.suffix in _DISPLAY_SUFFIXES:
            return
        self.files.append(path)
        for value in _environment_in(path).values():
            self.add_words(value, path)
        if path.suffix in _PARAMETER_SUFFIXES:
            for file_name in _named_in_yaml(path):
                self._add(file_name.resolve(), ())
        elif path.suffix in SUFFIXES and not _is_launch_file(path):
            xacro_arguments = dict(word.split(":=", 1) for word in words if ":=" in word)
            inner = description_files(path, xacro_arguments, _environment_of(words))
            self.files += [file for file in inner.files if file not in self.files]
            self.missing_packages |= inner.needed_packages
            self.missing_description_packages |= inner.missing_packages - inner.needed_packages
            for file, texts in inner.not_followed.items():
                for text in texts:
                    self.note(file, text)


class _IgnoredConfiguration:
    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


class _InputFileLoader(XmlLoader):  # type: ignore[misc]
    """roslaunch's loader, which adds the files of a launch file to ``contents``.

    It executes no commands, and continues after an error.
    """

    ignore_unset_args = True

    def __init__(self, contents: LaunchContents) -> None:
        super().__init__()
        self._contents = contents
        self._adds = True
        self._include_is_uncertain = self._is_uncertain = False

    def resolve_args(self, args: Optional[str], context: Any) -> Optional[str]:
        if not args:
            return args
        file = Path(context.filename)
        resolved_text = self._resolved(args, context)
        if self._adds:
            if _UNRESOLVED in resolved_text:
                self._contents.note(file, args)
            self._contents.add_words(resolved_text, file, args)
        return resolved_text

    def _resolved(self, text: str, context: Any) -> str:
        known_arguments = context.resolve_dict.get("arg") or {}
        unknown_names = [
            name for name, value in known_arguments.items() if _TRIAL_VALUE.search(str(value))
        ]
        if "$(eval" in text and any(
            re.search(rf"\b{re.escape(name)}\b", text) for name in unknown_names
        ):
            return _NUMBER if self._is_number(text, known_arguments) else _UNRESOLVED
        try:
            return str(super().resolve_args(text, context))
        except Exception:  # an expression of the user can raise any error
            for name in _FIND.findall(text):
                if find_file(f"package://{name}") is None:
                    self._contents.missing_packages.add(name)
            words = _WORD.findall(text)
            if len(words) < 2:
                return _UNRESOLVED
            return " ".join(self._resolved(word, context) for word in words)

    def _is_number(self, text: str, arguments: Mapping[str, str]) -> bool:
        sample = {name: _TRIAL_VALUE.sub("0.5", str(value)) for name, value in arguments.items()}
        with contextlib.suppress(Exception):
            return math.isfinite(float(substitution_args.resolve_args(text, {"arg": sample})))
        return False

    def opt_attrs(self, tag: Any, context: Any, attrs: Sequence[str]) -> List[Optional[str]]:
        # A condition with an unknown value is omitted, so that the files of both cases are added.
        if list(attrs) != ["if", "unless"]:
            return list(super().opt_attrs(tag, context, attrs))
        with self._adding_nothing():
            values = super().opt_attrs(tag, context, attrs)
        return [None if _TRIAL_VALUE.search(value or "") else value for value in values]

    def param_value(self, *arguments: Any) -> str:
        # not the content of a file or the output of a command
        return ""

    def load_rosparam(self, context: Any, *arguments: Any, **keywords: Any) -> None:
        # The file of the parameters is already added.
        _, command, param, file, text = arguments
        if command != "load":
            return
        if file is not None:
            self._require_file(file, context)
            text = read_file(Path(file), _LARGEST_READ_B).decode("utf-8")
        if keywords.get("subst_function") is not None:
            with self._adding_nothing():
                text = keywords["subst_function"](text)
        for name, value in _named_scalars(yaml.compose(text, Loader=yaml.SafeLoader)):
            self._note_planner(ns_join(ns_join(context.ns, param), name), value)

    def _require_file(self, path: str, context: Any) -> None:
        is_known = path and not self._is_uncertain and not _TRIAL_VALUE.search(path)
        if is_known and not os.path.isfile(path):
            self._contents.missing_files.append(f"{path} in {name_of(Path(context.filename))}")

    def _note_planner(self, parameter: str, value: str) -> None:
        if parameter.rpartition("/")[2] in PLANNER_PARAMETERS:
            self._contents.planners.pop(parameter, None)  # a later value replaces it
            if not self._is_uncertain and not _TRIAL_VALUE.search(value):
                self._contents.planners[parameter] = value

    def _depends_on_trial(self, tag: Any, context: Any) -> bool:
        """Return whether a condition with an unknown value decides if a tag is evaluated."""
        while tag.nodeType == tag.ELEMENT_NODE:
            for condition in ("if", "unless"):
                if _TRIAL_VALUE.search(self._resolved(tag.getAttribute(condition), context)):
                    return True
            tag = tag.parentNode
        return self._include_is_uncertain

    def _arg_tag(self, *arguments: Any, **keywords: Any) -> Any:
        with self._adding_nothing(), contextlib.suppress(Exception):
            return super()._arg_tag(*arguments, **keywords)

    def _include_tag(self, tag: Any, context: Any, *arguments: Any, **keywords: Any) -> Any:
        outer = self._include_is_uncertain
        self._is_uncertain = self._depends_on_trial(tag, context)
        try:
            with contextlib.suppress(Exception):
                if ifunless_test(self, tag, context):
                    self._require_file(self._resolved(tag.getAttribute("file"), context), context)
                self._include_is_uncertain = self._is_uncertain
                return super()._include_tag(tag, context, *arguments, **keywords)
        finally:
            self._include_is_uncertain = outer

    def _node_tag(self, *arguments: Any, **keywords: Any) -> Any:
        with contextlib.suppress(Exception):
            node = super()._node_tag(*arguments, **keywords)
            if node is not None and not _TRIAL_VALUE.search(f"{node.package}/{node.type}"):
                self._contents.nodes.append((node.package, node.type))
            return node

    def _param_tag(self, tag: Any, context: Any, *arguments: Any, **keywords: Any) -> Any:
        with contextlib.suppress(Exception):
            self._is_uncertain = self._depends_on_trial(tag, context)
            parameter = super()._param_tag(tag, context, *arguments, **keywords)
            if parameter is not None:
                value, file = (tag.getAttribute(name) for name in ("value", "textfile"))
                name = ns_join(context.ns, parameter.key)
                self._note_planner(name, self._resolved(value, context))
                self._require_file(self._resolved(file, context), context)
            return parameter

    def _rosparam_tag(self, tag: Any, context: Any, *arguments: Any, **keywords: Any) -> Any:
        with contextlib.suppress(Exception):
            self._is_uncertain = self._depends_on_trial(tag, context)
            return super()._rosparam_tag(tag, context, *arguments, **keywords)

    @contextlib.contextmanager
    def _adding_nothing(self) -> Iterator[None]:
        previous_state, self._adds = self._adds, False
        try:
            yield
        finally:
            self._adds = previous_state


def _words(text: str) -> Iterator[str]:
    """Yield ``text``, each of its words, and the value of each word of the form ``name:=value``."""
    yield text
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    for word in words:
        yield word
        yield word.rpartition(":=")[2]


def _environment_of(words: Sequence[str]) -> Dict[str, str]:
    variables: Dict[str, str] = {}
    for path in map(find_file, words):
        if path is not None and os.path.isfile(path):
            variables.update(_environment_in(path))
    return variables


def _environment_in(path: Path) -> Dict[str, str]:
    # The launch files of some robots run xacro with such a file, which has no suffix.
    variables: Dict[str, str] = {}
    if path.suffix:
        return variables
    try:
        lines = read_file(path, _LARGEST_READ_B).decode("utf-8").splitlines()
        for line in map(str.strip, lines):
            match = _ASSIGNMENT.fullmatch(line)
            if match is not None:
                variables[match[1]] = " ".join(shlex.split(match[2], comments=True))
            elif line and not line.startswith("#"):
                return {}
    except (OSError, ValueError):  # too large, not text, or an open quotation mark
        return {}
    return variables


def _named_in_yaml(path: Path) -> Iterator[Path]:
    # Reading the nodes, not the values, makes nested aliases and merge keys cost no more than the
    # size of the file: an alias is the node that it refers to.
    try:
        text = read_file(path, _LARGEST_READ_B).decode("utf-8")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError):
        return
    if isinstance(root, yaml.MappingNode):
        for key, value in root.value:
            if key.value == "image" and _is_text(value):
                image = path.parent / value.value
                if os.path.isfile(image):
                    yield image
    for text in _scalar_texts(root):
        file = find_file(text)
        if file is not None and os.path.isfile(file):
            yield file


def _named_scalars(root: Optional[yaml.Node], name: str = "") -> Iterator[Tuple[str, str]]:
    if isinstance(root, yaml.MappingNode):
        for key, value in root.value:
            inner = ns_join(name, str(key.value))
            if isinstance(value, yaml.ScalarNode):
                yield inner, value.value
            elif not name:  # planners are named in a file of a node or of a namespace
                yield from _named_scalars(value, inner)


def _scalar_texts(root: Optional[yaml.Node]) -> Iterator[str]:
    open_nodes, visited_nodes = [root], set()
    while open_nodes:
        node = open_nodes.pop()
        if id(node) in visited_nodes:
            continue
        visited_nodes.add(id(node))
        if isinstance(node, yaml.MappingNode):
            open_nodes += [value for _, value in reversed(node.value)]
        elif isinstance(node, yaml.SequenceNode):
            open_nodes += reversed(node.value)
        elif node is not None and _is_text(node):
            yield node.value


def _is_text(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:str"


def _is_launch_file(path: Path) -> bool:
    try:
        return bool(read_xml(path).tag == "launch")
    except (OSError, etree.XMLSyntaxError):
        return True


def name_of(path: Path) -> str:
    """Return the ROS package and the path in it; outside of packages, the file name."""
    for directory in path.parents:
        manifest = directory / "package.xml"
        if os.path.isfile(manifest):
            with contextlib.suppress(OSError, etree.XMLSyntaxError):
                package = (read_xml(manifest).findtext("name") or directory.name).strip()
                return str(Path(package) / path.relative_to(directory))
    return path.name
