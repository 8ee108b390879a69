"""Find files by URI: relative to another file, in a ROS package, or on Gazebo's model path.

The network is never used, since Gazebo's model database can be unavailable or slow.
"""

import contextlib
import difflib
import os
import re
import sysconfig
from pathlib import Path
from typing import Iterator, List, Optional, Sequence, Tuple, Union

from lxml import etree

from gz_testauto.base.errors import ResourceError
from gz_testauto.base.ros_packages import ros_packages
from gz_testauto.base.xml_file import read_xml

PACKAGE = "gz_testauto"
MODELS = "models"  # of this package, or of a set of worlds
# Least similarity (``difflib``) of a suggested package name. ``gazebo_ros`` and ``gazebo_msgs`` are
# less similar.
TYPING_ERROR = 0.8
WORLDS_MANIFEST = "worlds.json"  # manifest of a set of worlds
_LONGEST_NAME, _LONGEST_PATH = 255, 2000  # bytes; Linux's limit for a path includes the directory
NEWEST_SDF = (1, 7)  # the newest SDF version that Gazebo 11 reads
# Subdirectories of each ``GAZEBO_RESOURCE_PATH`` entry in which Gazebo searches ``file://``.
_MEDIA_FOLDERS = ("", "models", "media/models", "Media/models")


def resolve(
    uri: Union[str, Path], relative_to: Path, model_path: Optional[Sequence[Path]] = None
) -> Path:
    """Return the absolute path of ``uri``.

    A plain path and ``file://path`` are relative to ``relative_to``: a directory, or the file that
    contains the URI. The path need not exist; a missing ``file://path`` is also searched in
    ``GAZEBO_RESOURCE_PATH``. Raises ``ResourceError`` for another scheme, for an unknown package of
    ``package://name/…``, and if ``model://name/…`` is neither in :func:`world_set_models` nor on
    ``model_path`` (default: :func:`model_path`).
    """
    text = str(uri).strip()
    _require_file_name(text)
    scheme, separator, path = text.partition("://")
    if not separator:
        return _absolute_path(text, relative_to)
    if scheme == "file":
        return _resolve_file(path, relative_to)
    if scheme == "package":
        return _resolve_package(path, relative_to)
    if scheme == "model":
        return _resolve_model(path, world_set_models(relative_to), model_path)
    remedy = ""
    if scheme in ("http", "https"):
        remedy = (
            "; models are not downloaded automatically: download the model, add its parent "
            "directory to GAZEBO_MODEL_PATH, and write model://NAME"
        )
    raise ResourceError(
        f"the URI {text!r} cannot be resolved; use a path, file://, package:// or model://{remedy}"
    )


def find_ignoring_case(start: Path, name: str) -> Optional[str]:
    """Return the existing path, relative to ``start``, that differs from ``name`` only in upper and
    lower case, or None."""
    path = start
    for part in Path(name).parts:
        try:
            entries = os.listdir(path)
        except OSError:
            return None
        matches = [entry for entry in entries if entry.casefold() == part.casefold()]
        if not matches:
            return None
        path /= part if part in matches else min(matches)
    return str(path.relative_to(start))


def share_directory() -> Path:
    """Return the directory of the data files: the source tree, or ``share/gz_testauto`` of an
    installation. Raises ``ResourceError`` if they are missing."""
    module_path = Path(__file__).resolve()
    for candidate in _share_candidates(module_path):
        if os.path.isdir(candidate / "models"):
            return candidate
    raise ResourceError(
        f"the data files of {PACKAGE} (models/, worlds/, config/) were not found near "
        f"{module_path.parent}; install the package again"
    )


def model_path() -> Tuple[Path, ...]:
    """Return the directories of ``model://`` URIs, in order of priority."""
    directories: List[Path] = []
    with contextlib.suppress(ResourceError):  # the core works without this package's models
        directories.append(share_directory() / "models")
    entries = os.environ.get("GAZEBO_MODEL_PATH", "").split(os.pathsep)
    directories += [Path(entry).expanduser().absolute() for entry in entries if entry.strip()]
    directories.append(Path.home() / ".gazebo" / "models")
    return tuple(dict.fromkeys(directories))


def world_set_models(relative_to: Path) -> Tuple[Path, ...]:
    """Return the ``models/`` of the set of worlds that contains ``relative_to``: a world, the
    directory of the set, or a path in ``models/``. The result is empty outside of a set."""
    path = Path(os.path.abspath(relative_to))
    for folder in (path, *path.parents):
        if folder.name == MODELS and os.path.isfile(folder.parent / WORLDS_MANIFEST):
            return (folder,)
    folder = path if os.path.isdir(path) else path.parent
    models = folder / MODELS
    return (models,) if os.path.isfile(folder / WORLDS_MANIFEST) and models.is_dir() else ()


def media_directories() -> Iterator[Path]:
    for directory in os.environ.get("GAZEBO_RESOURCE_PATH", "").split(os.pathsep):
        for folder in _MEDIA_FOLDERS if directory.strip() else ():
            yield Path(directory) / folder


def model_file(path: Path) -> Path:
    """Return the SDF file of the model directory ``path``. If ``model.config`` names several files,
    return that of the newest SDF version that Gazebo 11 supports. Return ``path`` if it is not a
    directory. Raises ``ResourceError`` if no SDF file exists."""
    if not os.path.isdir(path):
        return path
    manifests = (path / name for name in ("model.config", "manifest.xml"))
    manifest = next(filter(os.path.isfile, manifests), None)
    if manifest is None:
        if os.path.isfile(path / "model.sdf"):
            return path / "model.sdf"
        raise ResourceError(f"{path} is not a model directory: model.config is missing")
    try:
        # TinyXML accepts malformed XML; only the name of the SDF file is needed here.
        root = read_xml(manifest, recover=True)
    except (etree.XMLSyntaxError, OSError) as error:
        raise ResourceError(f"{manifest} cannot be read: {error}") from error
    entries = [] if root is None else list(root.iter("sdf"))
    files = [(_sdf_version(entry), (entry.text or "").strip()) for entry in entries]
    readable_entries = [entry for entry in files if entry[0] <= NEWEST_SDF] or files
    name = max(readable_entries, key=lambda entry: entry[0])[1] if readable_entries else ""
    _require_file_name(name)
    if not name or not os.path.isfile(path / name):
        problem = f"names {name!r}, which does not exist" if name else "names no <sdf> file"
        raise ResourceError(f"{manifest} {problem}")
    return path / name


def _sdf_version(entry: "etree._Element") -> Tuple[int, ...]:
    numbers = re.findall(r"[0-9]+", entry.get("version", ""))
    return tuple(int(number.lstrip("0")[:9] or "0") for number in numbers[:2]) or (0,)


def _require_file_name(text: str) -> None:
    longest = max((len(os.fsencode(part)) for part in text.split("/")), default=0)
    if "\0" in text or longest > _LONGEST_NAME or len(os.fsencode(text)) > _LONGEST_PATH:
        raise ResourceError(
            f"{text[:60]!r}... cannot be a file name: it is too long or has a null character"
        )


def _absolute_path(path: str, relative_to: Path) -> Path:
    base = relative_to if os.path.isdir(relative_to) else relative_to.parent
    try:
        expanded_path = Path(path).expanduser()
    except RuntimeError as error:
        raise ResourceError(f"{path}: {error}; write the path without ~") from error
    return Path(os.path.normpath(base.absolute() / expanded_path))


def _resolve_file(path: str, relative_to: Path) -> Path:
    relative = _absolute_path(path, relative_to)
    if Path(path).is_absolute() or os.path.exists(relative):
        return relative
    for folder in media_directories():
        if os.path.exists(folder / path):
            return Path(os.path.normpath((folder / path).absolute()))
    return relative


def _share_candidates(module_path: Path) -> Iterator[Path]:
    source_tree = module_path.parents[3]
    if os.path.isfile(source_tree / "package.xml"):
        yield source_tree
    for parent in module_path.parents:
        yield parent / "share" / PACKAGE
    yield Path(sysconfig.get_path("data")) / "share" / PACKAGE


def _resolve_package(path: str, relative_to: Path) -> Path:
    package, _, subpath = path.partition("/")
    if package == PACKAGE:
        return Path(os.path.normpath(share_directory() / subpath))
    directory = ros_packages().get(package) or _neighboring_package(package, relative_to)
    if directory is None:
        similar_names = difflib.get_close_matches(
            package, list(ros_packages()), n=1, cutoff=TYPING_ERROR
        )
        hint = f"; did you mean {similar_names[0]!r}? Otherwise" if similar_names else ";"
        raise ResourceError(
            f"package://{path}: the ROS package {package!r} was not found{hint} install or build "
            "it, and source setup.bash of its workspace in this shell, or add its parent folder to "
            "ROS_PACKAGE_PATH"
        )
    return Path(os.path.normpath(directory / subpath))


def _neighboring_package(package: str, relative_to: Path) -> Optional[Path]:
    # A description that was downloaded without a workspace can refer to its own package.
    path = Path(os.path.abspath(relative_to))
    for folder in (path, *path.parents):
        for candidate in (folder, folder / package):
            if _package_name(candidate) == package:
                return candidate
    return None


def _package_name(folder: Path) -> Optional[str]:
    try:
        name = read_xml(folder / "package.xml", recover=True).findtext("name")
    except (etree.XMLSyntaxError, OSError, AttributeError):
        return None
    return (name or "").strip()


def _resolve_model(
    path: str, in_world_set: Tuple[Path, ...], directories: Optional[Sequence[Path]]
) -> Path:
    path = path.lstrip("/")  # Gazebo accepts model:///NAME as model://NAME
    search_path = in_world_set + (model_path() if directories is None else tuple(directories))
    for directory in search_path:
        candidate = directory / path
        if os.path.exists(candidate):
            return Path(os.path.normpath(candidate.absolute()))
    similar_name = next(
        filter(None, (find_ignoring_case(start, path) for start in search_path)), None
    )
    hint = f"did you mean model://{similar_name}? " if similar_name else ""
    name, _, subpath = path.partition("/")
    model = next((start / name for start in search_path if os.path.isdir(start / name)), None)
    if model is not None and subpath:
        raise ResourceError(
            f"model://{path} was not found: {model} has no {subpath}; "
            + (hint.strip() or "copy that file from the source of the model")
        )
    raise ResourceError(
        f"model://{path} was not found in {', '.join(map(str, search_path)) or 'an empty path'}: "
        f"{hint}add its parent directory to GAZEBO_MODEL_PATH"
    )
