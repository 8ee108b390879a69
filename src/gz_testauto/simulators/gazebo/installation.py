"""Search for Gazebo 11 on this machine, and the command and environment to start it.

Gazebo can be an unpacked directory tree of another distribution, which is started with the
dynamic loader of that tree.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, Iterable, Mapping, Optional, Tuple

from gz_testauto.base.errors import MissingDependencyError

# the root of an unpacked tree, e.g. from Debian 11's packages
ROOT_VARIABLE = "GZ_TESTAUTO_GAZEBO_ROOT"

# No server runs at this address. Gazebo's online database is slow or unavailable, and the
# results of a world that silently depends on it are not reproducible.
MODEL_DATABASE = "http://127.0.0.1:9/"

# `gzserver --version` is run again if a signal killed it.
_VERSION_ATTEMPTS = 3

_VERSION = re.compile(r"version (\d+\.\d+(?:\.\d+)?)")
_LOADERS = ("lib/*-linux-gnu*/ld-[0-9]*.so", "lib/*-linux-gnu*/ld-linux*.so.*", "lib*/ld-*.so*")
_LIBRARY_DIRECTORIES = (
    "usr/lib/*-linux-gnu*",
    "lib/*-linux-gnu*",
    "usr/lib/*-linux-gnu*/blas",
    "usr/lib/*-linux-gnu*/lapack",
    "usr/lib/*-linux-gnu*/pulseaudio",
    "usr/lib",
)


@dataclass(frozen=True)
class GazeboInstallation:
    """An installed Gazebo that can be started.

    ``kind`` is ``"tree"`` for an unpacked tree with its own dynamic loader, or ``"system"`` for a
    Gazebo on PATH. ``where`` describes the location in error messages. ``environment`` is added to
    the environment of the process.
    """

    kind: str
    where: str
    version: str
    server: Tuple[str, ...]
    client: Optional[Tuple[str, ...]]
    environment: Mapping[str, str] = field(default_factory=dict)

    def process_environment(
        self, master_port: int, model_path: Iterable[Path] = ()
    ) -> Dict[str, str]:
        """Return the environment of a gzserver or gzclient process.

        ``model_path`` is searched before the model path of the user's environment.
        """
        environment = {**os.environ, **self.environment}
        first = {"GAZEBO_MODEL_PATH": map(str, model_path)}
        for name in ("GAZEBO_MODEL_PATH", "GAZEBO_RESOURCE_PATH", "GAZEBO_PLUGIN_PATH"):
            known_paths = (os.environ.get(name), self.environment.get(name))
            environment[name] = ":".join(filter(None, (*first.get(name, ()), *known_paths)))
        # Gazebo listens on all interfaces, but then accepts connections from loopback only.
        environment.update(
            GAZEBO_MASTER_URI=f"http://127.0.0.1:{master_port}",
            GAZEBO_IP="127.0.0.1",
            GAZEBO_HOSTNAME="127.0.0.1",
            GAZEBO_IP_WHITE_LIST="127.0.0.1",
            GAZEBO_MODEL_DATABASE_URI=MODEL_DATABASE,
            IGN_IP="127.0.0.1",
            IGN_PARTITION=f"gz_testauto_{os.getpid()}_{master_port}",
        )
        if self.kind == "tree":  # the tree's loader must not load this system's libraries
            environment.pop("LD_LIBRARY_PATH", None)
            environment.pop("LD_PRELOAD", None)
        return environment


def cache_directory() -> Path:
    """Return the folder into which ``./bootstrap`` unpacks Gazebo."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "gz_testauto" / "gazebo-11"


def find_gazebo() -> GazeboInstallation:
    """Return the Gazebo to use.

    It is the tree of ``GZ_TESTAUTO_GAZEBO_ROOT``, otherwise a ``gzserver`` 11 on PATH,
    otherwise the tree in the per-user cache. Raises ``MissingDependencyError`` if there is none.
    """
    root_text = os.environ.get(ROOT_VARIABLE)
    if root_text:
        return installation_in_tree(Path(root_text).expanduser(), f"{ROOT_VARIABLE}={root_text}")
    on_path = shutil.which("gzserver")
    cache = cache_directory()
    if on_path:
        try:
            return _installation_on_path(on_path)
        except MissingDependencyError:  # for example another version, so use the cache
            if not cache.is_dir():
                raise
    if cache.is_dir():
        return installation_in_tree(cache, f"the per-user cache {cache}")
    raise MissingDependencyError(
        f"Gazebo 11 was not found: {ROOT_VARIABLE} is not set, gzserver is not on PATH, "
        f"and {cache} does not exist; install gazebo11, or run './bootstrap setup' to unpack it "
        "into the cache"
    )


def installation_in_tree(root: Path, where: str) -> GazeboInstallation:
    """Return the Gazebo in the unpacked tree ``root``, which ``where`` describes in messages.
    Raises ``MissingDependencyError`` if the tree does not contain Gazebo 11."""
    server = _first_file(root, ("usr/bin/gzserver-1*", "usr/bin/gzserver"))
    if server is None:
        raise MissingDependencyError(
            f"{where}: usr/bin/gzserver was not found in {root}, which must be the root of an "
            "unpacked tree with Gazebo 11"
        )
    loader = _first_file(root, _LOADERS)
    if loader is None:
        raise MissingDependencyError(
            f"{where}: the dynamic loader (ld-*.so) was not found in {root}; "
            "unpack the whole tree again"
        )
    libraries = [str(path) for pattern in _LIBRARY_DIRECTORIES for path in root.glob(pattern)]
    start = (str(loader), "--library-path", ":".join(libraries))
    client = _first_file(root, ("usr/bin/gzclient-1*", "usr/bin/gzclient"))
    environment = {
        "GAZEBO_RESOURCE_PATH": _joined_paths(root, "usr/share/gazebo-1*"),
        "GAZEBO_PLUGIN_PATH": _joined_paths(root, "usr/lib/*/gazebo-1*/plugins"),
        "GAZEBO_MODEL_PATH": _joined_paths(root, "usr/share/gazebo-1*/models"),
        "OGRE_RESOURCE_PATH": _joined_paths(root, "usr/lib/*/OGRE-*"),
        "QT_PLUGIN_PATH": _joined_paths(root, "usr/lib/*/qt5/plugins"),
    }
    command = (*start, str(server))
    return GazeboInstallation(
        kind="tree",
        where=where,
        version=_read_version(command, where),
        server=command,
        client=(*start, str(client)) if client else None,
        environment=environment,
    )


def _installation_on_path(server: str) -> GazeboInstallation:
    client = shutil.which("gzclient")
    share = Path(server).resolve().parent.parent / "share"
    environment = {
        "GAZEBO_RESOURCE_PATH": _joined_paths(share, "gazebo-1*"),
        "GAZEBO_MODEL_PATH": _joined_paths(share, "gazebo-1*/models"),
    }
    return GazeboInstallation(
        kind="system",
        where=server,
        version=_read_version((server,), server),
        server=(server,),
        client=(client,) if client else None,
        environment=environment,
    )


def _read_version(command: Tuple[str, ...], location: str) -> str:
    for _ in range(_VERSION_ATTEMPTS):
        try:
            result = subprocess.run(
                [*command, "--version"], capture_output=True, text=True, timeout=60, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise MissingDependencyError(
                f"{location}: gzserver cannot be started: {error}"
            ) from error
        if result.returncode >= 0:  # the program was not killed by a signal
            break
    match = _VERSION.search(result.stdout)
    if match is None:
        lines = (result.stderr or result.stdout).strip().splitlines()
        raise MissingDependencyError(
            f"{location}: gzserver --version failed: {lines[-1] if lines else 'no output'}"
        )
    version = match.group(1)
    if not version.startswith("11."):
        raise MissingDependencyError(f"{location}: this is Gazebo {version}; install Gazebo 11")
    return version


def _first_file(root: Path, patterns: Iterable[str]) -> Optional[Path]:
    for pattern in patterns:
        for path in sorted(root.glob(pattern)):
            if path.is_file():
                return path
    return None


def _joined_paths(root: Path, pattern: str) -> str:
    return ":".join(str(path) for path in sorted(root.glob(pattern)))
