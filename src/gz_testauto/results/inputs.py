"""Collect the files on which a campaign's trials depend and that its YAML file does not name."""

import ast
import collections
import contextlib
import functools
import hashlib
import importlib.machinery
import inspect
import os
import sys
from pathlib import Path
from typing import Any, DefaultDict, Dict, Iterable, Iterator, List, Mapping, Optional, Set, Tuple

from lxml import etree

from gz_testauto.base.disk import read_file
from gz_testauto.base.errors import GzTestautoError, MissingDependencyError, ResourceError
from gz_testauto.base.parameters import parameters_of
from gz_testauto.base.registry import Registry, load_object
from gz_testauto.base.resources import model_file, resolve
from gz_testauto.base.xml_file import parse_xml
from gz_testauto.planners import PLANNERS, planner_origin
from gz_testauto.randomization import TERMS
from gz_testauto.results.comparability import MODULE, SHA256, WORLD_FILES, file_sha256, flatten
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.robot import RobotBody, RobotModel
from gz_testauto.sdf.robot_files import is_converted, read_robot_file
from gz_testauto.spec.actors import BEHAVIORS
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec, StackCampaignSpec
from gz_testauto.spec.effects import HOOKS
from gz_testauto.spec.randomize import PluginTerm
from gz_testauto.worlds.source import specified_files, world_source

PLANNER_CODE = "code of planner "
# Suffix of the SDF into which a URDF was converted, which depends on all files that xacro includes
# and on its environment variables.
CONVERTED = "/SDF of the URDF"
NOT_FOLLOWED = "not followed: "  # prefix of an input that describes paths whose files are unknown
SELECTED_LIDAR = "robot.lidar (selected)"


def further_files(spec: CampaignSpec, robot: RobotBody) -> Dict[str, str]:
    """Return the hashes of the files on which trials depend and that the campaign does not name,
    by the names of the inputs.

    The values of planners' origins, the selected lidar and unknown paths are descriptions.
    """
    inputs = _world_files(spec)
    if isinstance(spec, StackCampaignSpec):
        inputs.update(_launch_contents(spec))
    if isinstance(spec, BuiltinCampaignSpec):
        inputs.update(
            {**_planner_code_hashes(spec), **_moving_model_hashes(spec), **_actor_code_hashes(spec)}
        )
        inputs.update(_planner_inputs(spec))
    source = world_source(spec)
    if source is not None:
        inputs.update(source.input_files())
    if isinstance(robot, RobotModel):
        inputs.update(
            _hashes_of_named_files("robot", robot.sdf.encode("utf-8"), is_converted(robot.path))
        )
        if robot.lidar is not None:
            inputs[SELECTED_LIDAR] = str(robot.lidar)
    return inputs


def _world_files(spec: CampaignSpec) -> Dict[str, str]:
    """Return the hashes of models, meshes and images to which worlds and obstacles refer. The key
    contains the URI of the file, after that of the model that refers to it. Files with the same key
    have a common hash."""
    queue = [("", path) for path in specified_files(spec)]
    if spec.worlds.obstacles is not None:
        values = flatten(spec.worlds.obstacles.model_dump(mode="python"))
        queue += [(path.name, path) for _, path in values if isinstance(path, Path)]
    digests: DefaultDict[str, Set[str]] = collections.defaultdict(set)
    known_paths: Set[Path] = set()
    while queue:
        owner, path = queue.pop()
        if path in known_paths:
            continue
        known_paths.add(path)
        for uri, file in _referenced_files(path):
            name = _input_name(owner, uri)
            digests[name].add(file_sha256(file))
            queue.append((name, file))
    return {
        WORLD_FILES + name: hashlib.sha256("".join(sorted(values)).encode()).hexdigest()
        for name, values in digests.items()
    }


def _input_name(owner: str, uri: str) -> str:
    if uri.startswith(("model://", "package://")):
        return uri
    path = uri.replace("file://", "", 1)
    if os.path.isabs(path):  # trials do not depend on the location
        return Path(path).name
    return f"{owner}/{path}" if owner else path


def _referenced_files(path: Path) -> Iterator[Tuple[str, Path]]:
    with contextlib.suppress(OSError, GzTestautoError, etree.XMLSyntaxError):
        path = model_file(path)
        content = read_file(path)
        root = parse_xml(content, recover=True) if b"<uri" in content else None
        for element in () if root is None else root.iter("uri"):
            uri = (element.text or "").strip()
            with contextlib.suppress(ResourceError):
                file = model_file(resolve(uri, path.parent))
                if os.path.isfile(file):
                    yield uri, file


def _launch_contents(spec: StackCampaignSpec) -> Dict[str, str]:
    """Return the hashes of the input files of a navigation stack, and descriptions of paths whose
    files are unknown. Raises ``MissingDependencyError`` if ROS is not installed."""
    try:
        launch_inputs = load_object("gz_testauto.ros.stack.launch_contents:launch_inputs")
    except ImportError as error:
        raise MissingDependencyError(
            f"campaign {spec.name}: a campaign with stack needs ROS, but the Python package "
            f"{error.name} is not found; source the setup.bash of your workspace, or use "
            "./bootstrap exec gz_testauto run ..."
        ) from error
    return {
        name: file_sha256(content) if isinstance(content, Path) else content
        for name, content in launch_inputs(spec).items()
    }


def _planner_inputs(spec: BuiltinCampaignSpec) -> Dict[str, str]:
    """Return the hashes of the files that parameters of planners name, and the descriptions of the
    origins of planners."""
    inputs = {}
    planners = [
        (f"planner {planner.name}", planner.plugin, planner.parameters) for planner in spec.planners
    ]
    planners += [
        (f"planner of robot {robot.name}", robot.planner, robot.parameters)
        for robot in spec.robots
        if robot.planner
    ]
    for label, plugin, parameters in planners:
        for name, value in parameters.items():
            if not (isinstance(value, str) and os.path.isabs(value) and os.path.isfile(value)):
                continue
            # A policy has a description next to it.
            for path in (Path(value), Path(value + ".json")):
                if path.is_file():
                    inputs[f"{label}/{name}{path.suffix}"] = file_sha256(path)
        try:
            description = planner_origin(plugin, **parameters).description
        except GzTestautoError:  # the error is raised when the planner is used
            continue
        if description:
            inputs[label] = description
    return inputs


def _planner_code_hashes(spec: BuiltinCampaignSpec) -> Dict[str, str]:
    names = [entry.plugin for entry in spec.planners]
    names += [entry.planner for entry in spec.robots if entry.planner]
    return _code_hashes(PLANNER_CODE, PLANNERS, names)


def default_parameters(plugin: str, inputs: Mapping[str, str]) -> Dict[str, Any]:
    """Return the default parameters of a planner, by name. The result is empty if its code is
    missing or differs from the code in ``inputs``, the inputs of a manifest."""
    digests = _code_hashes(PLANNER_CODE, PLANNERS, [plugin])
    code = {name: SHA256 + digest for name, digest in digests.items()}
    code_of_planner = PLANNER_CODE + plugin
    is_missing = code_of_planner not in inputs or code_of_planner not in code
    if is_missing or any(inputs.get(name, value) != value for name, value in code.items()):
        return {}
    return {
        name: parameter.default
        for name, parameter in parameters_of(PLANNERS.get(plugin)).items()
        if parameter.default is not parameter.empty
    }


def _actor_code_hashes(spec: BuiltinCampaignSpec) -> Dict[str, str]:
    terms = (term.term for term in spec.randomize if isinstance(term, PluginTerm))
    return {
        **_code_hashes("code of behavior ", BEHAVIORS, (actor.behavior for actor in spec.actors)),
        **_code_hashes("code of term ", TERMS, terms),
        **_code_hashes("code of hook ", HOOKS, (hook.hook for hook in spec.hooks)),
    }


def _code_hashes(prefix: str, registry: Registry, names: Iterable[str]) -> Dict[str, str]:
    inputs = {}
    for name in names:
        try:
            plugin = registry.get(name)
            source = inspect.getsourcefile(plugin)
        except (GzTestautoError, TypeError):  # the error is raised when the plug-in is used
            continue
        except OSError:  # a class of the main module, which has no source file
            continue
        if source is not None:
            inputs[prefix + name] = file_sha256(Path(source))
            for module, path in modules_of(plugin).items():
                inputs[f"{prefix}{name}{MODULE}{module}"] = file_sha256(path)
    return inputs


def modules_of(plugin: Any) -> Dict[str, Path]:
    """Return the files of the modules on which a plug-in depends, by the modules' names.

    These are its base classes' modules, and all direct and indirect imports, in the plug-in's
    top-level package. For a plug-in of gz_testauto, only imports from its folder count.
    """
    # Import statements are read, not run, so that the result does not depend on the modules that
    # this process has imported.
    name = str(getattr(plugin, "__module__", ""))
    top, _, submodules = name.partition(".")
    if not submodules:  # a module without a package
        return {}
    scope = name.rpartition(".")[0] if top == __name__.partition(".")[0] else top
    files: Dict[str, Path] = {}
    queue = [name]
    if inspect.isclass(plugin):
        bases = (base.__module__ for base in plugin.__mro__)
        queue += [base for base in bases if base.startswith(f"{top}.")]
    while queue:
        module = queue.pop()
        path = _module_file(module)
        if path is not None and module not in files:
            files[module] = path
            queue += _imports_in_scope(module, path, scope)
    files.pop(name, None)
    return dict(sorted(files.items()))


def _module_file(module: str) -> Optional[Path]:
    top, _, submodules = module.partition(".")
    for folder in getattr(sys.modules.get(top), "__path__", ()):
        base = os.path.join(folder, *submodules.split(".")) if submodules else str(folder)
        for stem in (f"{base}/__init__", base) if submodules else (f"{base}/__init__",):
            for suffix in importlib.machinery.all_suffixes():
                if os.path.isfile(stem + suffix):
                    return Path(stem + suffix)
    return None


def _imports_in_scope(module: str, path: Path, scope: str) -> Iterator[str]:
    if path.suffix != ".py":
        return
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for level, base, name in _import_statements(read_file(path)):
        if level:
            parents = package.split(".")[: package.count(".") + 2 - level]
            base = ".".join([*parents, base] if base else parents)
        if f"{base}.".startswith(f"{scope}."):
            # the name is a module of the package, or a value that its __init__.py provides
            submodule = f"{base}.{name}"
            yield submodule if name and _module_file(submodule) else base


@functools.lru_cache(maxsize=512)  # each campaign and each planner reads the same modules
def _import_statements(source: bytes) -> Tuple[Tuple[int, str, str], ...]:
    """Return the number of leading dots, the module and the imported name or "" of each import. The
    result is empty if the source has a syntax error."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # the module cannot be imported
        return ()
    statements: List[Tuple[int, str, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            statements += [(0, alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            statements += [(node.level, node.module or "", alias.name) for alias in node.names]
    return tuple(statements)


def _moving_model_hashes(spec: BuiltinCampaignSpec) -> Dict[str, str]:
    inputs = {}
    moving_models = [("actor", actor.name, actor.model) for actor in spec.actors]
    moving_models += [("robot", robot.name, robot.model) for robot in spec.robots]
    for kind, name, path in moving_models:
        if path is None:
            continue
        if path.is_dir():
            path = model_file(path)
            inputs[f"{kind} {name}/{path.name}"] = file_sha256(path)
        try:
            inputs.update(_model_hashes(f"{kind} {name}", path))
        except (etree.XMLSyntaxError, GzTestautoError):  # it is raised again when the model is used
            continue
    return inputs


def _model_hashes(owner: str, path: Path) -> Dict[str, str]:
    if not is_converted(path):
        return _hashes_of_named_files(owner, read_file(path), is_converted=False)
    document = read_robot_file(path).document
    ModelLibrary().absolutize(document, document.root)
    return _hashes_of_named_files(owner, etree.tostring(document.root), is_converted=True)


def _hash_without_folders(sdf: bytes) -> str:
    root = parse_xml(sdf)
    for element in root.iter("uri"):
        element.text = Path((element.text or "").strip()).name
    return hashlib.sha256(etree.tostring(root, method="c14n")).hexdigest()


def _hashes_of_named_files(owner: str, sdf: bytes, is_converted: bool) -> Dict[str, str]:
    inputs = {owner + CONVERTED: _hash_without_folders(sdf)} if is_converted else {}
    for element in parse_xml(sdf).iter("uri"):
        path = Path((element.text or "").strip().replace("file://", "", 1))
        if os.path.isfile(path):
            inputs[f"{owner}/{path.name}"] = file_sha256(path)
    return inputs
