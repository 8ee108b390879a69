"""Import the libraries of an extra, and compose the command for its installation."""

import contextlib
import json
import re
import shlex
import sys
from importlib import metadata
from pathlib import Path
from typing import Iterator, List

from gz_testauto.base.errors import MissingDependencyError, ResourceError
from gz_testauto.base.resources import PACKAGE, share_directory

UNKNOWN = "CHECKOUT"  # placeholder for the directory of the source if it is unknown
BOOTSTRAP_MARK = ".complete"  # of an environment that `bootstrap` created


@contextlib.contextmanager
def importing(subject: str, extra: str) -> Iterator[None]:
    """Convert an ``ImportError`` to ``MissingDependencyError`` with the installation of an extra.

    ``subject`` begins the message, such as ``environments need gymnasium``.
    """
    try:
        yield
    except ImportError as error:
        raise MissingDependencyError(
            f"{subject}, which cannot be imported ({error}); install it with "
            f"{install_command(extra)}"
        ) from error


def install_command(extra: str) -> str:
    bootstrap = _bootstrap()
    if bootstrap and extra in _extras_of_bootstrap():
        return f"{bootstrap} setup --all"
    return f"{shlex.quote(sys.executable)} -m pip install {_pip_requirement(extra)}"


def shell_command() -> str:
    """Return the command that runs ``gz_testauto`` in a shell in which nothing is activated."""
    bootstrap = _bootstrap()
    return f"{bootstrap} exec {PACKAGE}" if bootstrap else PACKAGE


def _bootstrap() -> str:
    """Return the quoted path of ``bootstrap`` if it created this environment, otherwise ``""``."""
    if not Path(sys.prefix, BOOTSTRAP_MARK).is_file() or _checkout_directory() == UNKNOWN:
        return ""
    return shlex.quote(str(Path(_checkout_directory(), "bootstrap")))


def _extras_of_bootstrap() -> List[str]:
    text = Path(_checkout_directory(), "bootstrap").read_text("utf-8")
    names = re.search(r"^readonly EXTRAS=(\S+)$", text, re.MULTILINE)
    return names[1].split(",") if names else []


def _pip_requirement(extra: str) -> str:
    try:
        distribution = metadata.distribution(PACKAGE)
    except metadata.PackageNotFoundError:
        return _directory_requirement(_checkout_directory(), extra)
    text = distribution.read_text("direct_url.json")  # PEP 610; absent if installed from an index
    # A build in the checkout leaves its metadata there.
    if text is None and _checkout_directory() != UNKNOWN:
        return _directory_requirement(_checkout_directory(), extra)
    if text is None:
        return shlex.quote(f"{PACKAGE}[{extra}]=={distribution.version}")
    origin = json.loads(text)
    url = str(origin["url"])
    if "vcs_info" in origin:
        commit = origin["vcs_info"].get("commit_id", "")
        return shlex.quote(f"{PACKAGE}[{extra}] @ {origin['vcs_info']['vcs']}+{url}@{commit}")
    if "dir_info" not in origin:
        return shlex.quote(f"{PACKAGE}[{extra}] @ {url}")
    editable = "-e " if origin["dir_info"].get("editable") else ""
    directory = url[len("file://") :] if url.startswith("file://") else url
    return editable + _directory_requirement(directory, extra)


def _directory_requirement(directory: str, extra: str) -> str:
    return shlex.quote(f"{directory}[{extra}]")


def _checkout_directory() -> str:
    try:
        share = share_directory()
    except ResourceError:
        return UNKNOWN
    return str(share) if Path(share, "pyproject.toml").is_file() else UNKNOWN
