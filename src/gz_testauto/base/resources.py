"""Finds files that are named by URI: beside a file, in a ROS package, on Gazebo's model path.

Owns the meaning of ``file://``, ``package://`` and ``model://``, where this package's own
``models/``, ``worlds/`` and ``config/`` are (source tree, catkin install or wheel), and which
of a model directory's SDF files is the one to read. Refuses to open what it finds, and never
looks on the network: Gazebo's online model database is gone or slow.
"""

import contextlib
import os
import re
import sysconfig
from pathlib import Path
from typing import Iterator, List, Optional, Sequence, Tuple, Union

from lxml import etree

from gz_testauto.base.errors import ResourceError
from gz_testauto.base.xml_file import read_xml

PACKAGE = "gz_testauto"
MODELS = "models"
"""The folder of models, this package's and that of a set of worlds."""
WORLDS_MANIFEST = "worlds.json"
"""The file that makes a directory a set of worlds."""
_LONGEST_NAME, _LONGEST_PATH = 255, 2000
"""Bytes; paths can be longer on Linux, but the directory before them counts too."""
NEWEST_SDF = (1, 7)
"""The newest SDF version that Gazebo 11 reads."""
_MEDIA_FOLDERS = ("", "models", "media/models", "Media/models")
"""Where below a directory of ``GAZEBO_RESOURCE_PATH`` Gazebo looks for ``file://``."""


def resolve(
    uri: Union[str, Path], relative_to: Path, model_path: Optional[Sequence[Path]] = None
) -> Path:
    """Return the absolute path that ``uri`` names.

    A plain path and ``file://path`` are taken relative to ``relative_to``: a directory, or
    the file in which the URI was written. Such a path need not exist; where ``file://path``
    does not, it is also looked for in ``GAZEBO_RESOURCE_PATH``, as Gazebo does for
    ``file://media/…``. ``package://name/…``
    needs the ROS package to exist, ``model://name/…`` needs the file or directory itself
    to be found among the models that a set of worlds brings (:func:`world_set_models`), or on
    ``model_path`` (by default :func:`model_path`).

    Raises ``ResourceError`` that says where was looked and how to mend it.
    """
    text = str(uri).strip()
    _require_file_name(text)
    scheme, separator, rest = text.partition("://")
    if not separator:
        return _beside(text, relative_to)
    if scheme == "file":
        return _file(rest, relative_to)
    if scheme == "package":
        return _in_package(rest)
    if scheme == "model":
        return _on_model_path(rest, world_set_models(relative_to), model_path)
    fetched = ""
    if scheme in ("http", "https"):
        fetched = (
            "; nothing is fetched from the network: download it, add the directory that holds it "
            "to GAZEBO_MODEL_PATH, and write model://NAME"
        )
    raise ResourceError(
        f"cannot resolve {text!r}: known are plain paths, file://, package:// and model://{fetched}"
    )


def find_ignoring_case(start: Path, name: str) -> Optional[str]:
    """What ``name``, relative to ``start``, would be in the upper and lower case in which it is
    there; None where it is not there in any."""
    found = start
    for part in Path(name).parts:
        try:
            entries = os.listdir(found)
        except OSError:
            return None
        same = [entry for entry in entries if entry.casefold() == part.casefold()]
        if not same:
            return None
        found /= part if part in same else min(same)
    return str(found.relative_to(start))


def share_directory() -> Path:
    """The directory that holds this package's ``models/``, ``worlds/`` and ``config/``.

    That is the source tree when run from it (a catkin devel space does), otherwise
    ``share/gz_testauto`` beside the ``lib`` into which the code was installed.
    """
    here = Path(__file__).resolve()
    for candidate in _share_candidates(here):
        if os.path.isdir(candidate / "models"):
            return candidate
    raise ResourceError(
        f"the data of {PACKAGE} (models/, worlds/, config/) was not found near {here.parent}: "
        "install the package again, with its data files"
    )


def model_path() -> Tuple[Path, ...]:
    """Directories in which ``model://`` is looked for, first match wins.

    This package's own models, then ``GAZEBO_MODEL_PATH``, then ``~/.gazebo/models``.
    """
    directories: List[Path] = []
    with contextlib.suppress(ResourceError):  # the core works without the package's own models
        directories.append(share_directory() / "models")
    entries = os.environ.get("GAZEBO_MODEL_PATH", "").split(os.pathsep)
    directories += [Path(entry).expanduser().absolute() for entry in entries if entry.strip()]
    directories.append(Path.home() / ".gazebo" / "models")
    return tuple(dict.fromkeys(directories))


def world_set_models(relative_to: Path) -> Tuple[Path, ...]:
    """``models/`` beside the ``worlds.json`` of the set of worlds to which ``relative_to`` belongs:
    one of its worlds, their directory, or something in that ``models/``. Empty for anything else.
    """
    place = Path(os.path.abspath(relative_to))
    for folder in (place, *place.parents):
        if folder.name == MODELS and os.path.isfile(folder.parent / WORLDS_MANIFEST):
            return (folder,)
    folder = place if os.path.isdir(place) else place.parent
    models = folder / MODELS
    return (models,) if os.path.isfile(folder / WORLDS_MANIFEST) and models.is_dir() else ()


def media_folders() -> Iterator[Path]:
    """Where a ``file://`` that is not beside its file is looked for: the directories of
    ``GAZEBO_RESOURCE_PATH``, and the folders in them in which Gazebo looks."""
    for directory in os.environ.get("GAZEBO_RESOURCE_PATH", "").split(os.pathsep):
        for folder in _MEDIA_FOLDERS if directory.strip() else ():
            yield Path(directory) / folder


def model_file(path: Path) -> Path:
    """The SDF file of a model: ``path`` itself, or what the directory's ``model.config`` names.

    Of several versions the newest that Gazebo 11 reads is taken, as Gazebo does.
    """
    if not os.path.isdir(path):
        return path
    manifests = (path / name for name in ("model.config", "manifest.xml"))
    manifest = next(filter(os.path.isfile, manifests), None)
    if manifest is None:
        if os.path.isfile(path / "model.sdf"):
            return path / "model.sdf"
        raise ResourceError(f"{path} is not a model directory: it has no model.config")
    try:
        # TinyXML forgives much; what matters here is only which file is named.
        root = read_xml(manifest, recover=True)
    except (etree.XMLSyntaxError, OSError) as error:
        raise ResourceError(f"{manifest} cannot be read: {error}") from error
    entries = [] if root is None else list(root.iter("sdf"))
    files = [(_version(entry), (entry.text or "").strip()) for entry in entries]
    readable = [entry for entry in files if entry[0] <= NEWEST_SDF] or files
    name = max(readable, key=lambda entry: entry[0])[1] if readable else ""
    _require_file_name(name)
    if not name or not os.path.isfile(path / name):
        named = f"names {name!r}, which is not there" if name else "names no <sdf> file"
        raise ResourceError(f"{manifest} {named}")
    return path / name


def _version(entry: "etree._Element") -> Tuple[int, ...]:
    numbers = re.findall(r"[0-9]+", entry.get("version", ""))
    return tuple(int(number.lstrip("0")[:9] or "0") for number in numbers[:2]) or (0,)


def _require_file_name(text: str) -> None:
    """Raise ``ResourceError`` for what no file can be called: looking for it would raise."""
    longest = max((len(os.fsencode(part)) for part in text.split("/")), default=0)
    if "\0" in text or longest > _LONGEST_NAME or len(os.fsencode(text)) > _LONGEST_PATH:
        raise ResourceError(f"{text[:60]!r}... cannot be the name of a file")


def _beside(path: str, relative_to: Path) -> Path:
    base = relative_to if os.path.isdir(relative_to) else relative_to.parent
    return Path(os.path.normpath(base.absolute() / Path(path).expanduser()))


def _file(path: str, relative_to: Path) -> Path:
    beside = _beside(path, relative_to)
    if Path(path).is_absolute() or os.path.exists(beside):
        return beside
    for folder in media_folders():
        if os.path.exists(folder / path):
            return Path(os.path.normpath((folder / path).absolute()))
    return beside


def _share_candidates(here: Path) -> Iterator[Path]:
    source_tree = here.parents[3]
    if os.path.isfile(source_tree / "package.xml"):
        yield source_tree
    for parent in here.parents:
        yield parent / "share" / PACKAGE
    yield Path(sysconfig.get_path("data")) / "share" / PACKAGE


def _in_package(rest: str) -> Path:
    package, _, inside = rest.partition("/")
    if package == PACKAGE:
        return Path(os.path.normpath(share_directory() / inside))
    try:
        import rospkg
    except ImportError as error:
        raise ResourceError(
            f"package://{rest} needs ROS, and rospkg is not installed here: name the file by path"
        ) from error
    try:
        directory = rospkg.RosPack().get_path(package)
    except rospkg.ResourceNotFound as error:
        raise ResourceError(
            f"package://{rest}: no ROS package {package!r}; source the workspace that has it "
            "(ROS_PACKAGE_PATH)"
        ) from error
    return Path(os.path.normpath(Path(directory) / inside))


def _on_model_path(
    rest: str, brought: Tuple[Path, ...], directories: Optional[Sequence[Path]]
) -> Path:
    rest = rest.lstrip("/")  # model:///NAME is to Gazebo what model://NAME is
    searched = brought + (model_path() if directories is None else tuple(directories))
    for directory in searched:
        candidate = directory / rest
        if os.path.exists(candidate):
            return Path(os.path.normpath(candidate.absolute()))
    meant = next(filter(None, (find_ignoring_case(start, rest) for start in searched)), None)
    hint = f"did you mean model://{meant}? " if meant else ""
    name, _, inside = rest.partition("/")
    model = next((start / name for start in searched if os.path.isdir(start / name)), None)
    if model is not None and inside:
        raise ResourceError(
            f"model://{rest} was not found: {model} has no {inside}; "
            + (hint.strip() or "take that file from where the model came from")
        )
    raise ResourceError(
        f"model://{rest} was not found in {', '.join(map(str, searched)) or 'an empty path'}: "
        f"{hint}add the directory that holds it to GAZEBO_MODEL_PATH"
    )
