"""Search for the models of a descriptor, and their download if the user allows it.

Files are written only to the cache, and no downloaded program is run.
"""

import contextlib
import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path, PurePosixPath
from typing import Dict, Iterator, List, Optional, Tuple

from gz_testauto.base import resources
from gz_testauto.base.disk import disk_errors, read_file, replace_file
from gz_testauto.base.errors import ResourceError
from gz_testauto.extras.scenic.descriptor import DescriptorSpec, ModelSpec


def cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "gz_testauto" / "models"


class ModelSearch:
    def __init__(self, descriptor: DescriptorSpec, download: bool = False) -> None:
        assert descriptor.models_dir is not None, "set when it was loaded"
        self.model_path = (descriptor.models_dir, *resources.model_path(), cache_directory())
        """Directories in the order of the search, also for ``model://`` in the models."""
        self._download = download

    def find(self, model: ModelSpec) -> Path:
        """Return the directory of a model, which is downloaded if it is missing and downloads are
        allowed. Raises ``ResourceError`` for a missing model."""
        for directory in self.model_path:
            candidate = directory / model.name
            if candidate.is_dir():
                return Path(os.path.abspath(candidate))
        if self._download:
            return download_model(model.name, model.url, cache_directory())
        raise ResourceError(self._not_found_message(model))

    def _not_found_message(self, model: ModelSpec) -> str:
        similar: Optional[str] = next(
            filter(None, (resources.find_ignoring_case(d, model.name) for d in self.model_path)),
            None,
        )
        hint = f"did you mean {similar!r}? " if similar else ""
        return (
            f"model {model.name!r} was not found in {', '.join(map(str, self.model_path))}: {hint}"
            "put its folder into one of them, add a directory to GAZEBO_MODEL_PATH, or use "
            "--download"
        )


DATABASE = "http://models.gazebosim.org"  # default of ``GAZEBO_MODEL_DATABASE_URI``
FUEL = "https://fuel.gazebosim.org/1.0"
FUEL_OWNER = "OpenRobotics"
TIMEOUT_S = 20.0
MOST_BYTES = 300_000_000  # largest size of an archive, and of its content


def download_model(name: str, url: Optional[str], cache: Path) -> Path:
    """Download a model, and return its directory in ``cache``. Raises ``ResourceError`` also for
    content that has changed since the first download."""
    failures: List[str] = []
    for address in _archive_urls(name, url):
        try:
            content = _fetch(address)
            files = _files_of(content)
        except (OSError, ValueError, zipfile.BadZipFile, tarfile.TarError, EOFError) as error:
            failures.append(f"{address}: {getattr(error, 'reason', None) or error}")
            continue
        return _store_in_cache(name, address, content, files, cache)
    raise ResourceError(
        f"model {name!r} cannot be downloaded ({'; '.join(failures)}); check the network, or put "
        "the folder of the model into models_dir"
    )


def _archive_urls(name: str, url: Optional[str]) -> Iterator[str]:
    if url is not None:
        yield url
        return
    quoted = urllib.parse.quote(name)
    database = os.environ.get("GAZEBO_MODEL_DATABASE_URI") or DATABASE
    yield f"{database.rstrip('/')}/{quoted}/model.tar.gz"
    yield f"{FUEL}/{FUEL_OWNER}/models/{quoted}.zip"


def _fetch(address: str) -> bytes:
    if urllib.parse.urlsplit(address).scheme not in ("http", "https"):
        raise ValueError("the URL of the archive must start with http:// or https://")
    request = urllib.request.Request(address, headers={"User-Agent": "gz_testauto"})
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
        content: bytes = response.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"the file is larger than {MOST_BYTES} bytes")
    return content


def _files_of(content: bytes) -> Dict[PurePosixPath, bytes]:
    """Return the files of an archive or a single SDF file, relative to the folder of the model.
    Raises ``ValueError`` for paths outside it."""
    if zipfile.is_zipfile(io.BytesIO(content)):
        entries = list(_zip_entries(content))
    elif content.lstrip()[:1] == b"<":
        return {PurePosixPath("model.sdf"): content}
    else:
        entries = list(_tar_entries(content))
    files: Dict[PurePosixPath, bytes] = {}
    for text, data in entries:
        name = PurePosixPath(text)
        if name.is_absolute() or ".." in name.parts or "\\" in text:
            raise ValueError(f"the archive contains the path {text!r}, which is outside the model")
        files[name] = data
    roots = [name.parent for name in files if name.name in ("model.config", "model.sdf")]
    if not roots:
        raise ValueError("the archive contains neither model.config nor model.sdf")
    root = min(roots, key=lambda path: len(path.parts))
    return {name.relative_to(root): data for name, data in files.items() if root in name.parents}


def _zip_entries(content: bytes) -> Iterator[Tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        _check_size(sum(entry.file_size for entry in archive.infolist()))
        for entry in archive.infolist():
            if not entry.is_dir():
                yield entry.filename, archive.read(entry)


def _tar_entries(content: bytes) -> Iterator[Tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        members = archive.getmembers()
        _check_size(sum(member.size for member in members))
        for member in members:
            stream = archive.extractfile(member) if member.isfile() else None
            if stream is not None:
                yield member.name, stream.read()


def _check_size(size: int) -> None:
    if size > MOST_BYTES:
        raise ValueError(f"the archive contains more than {MOST_BYTES} bytes")


def _store_in_cache(
    name: str, address: str, content: bytes, files: Dict[PurePosixPath, bytes], cache: Path
) -> Path:
    target, record_path = cache / name, cache / f"{name}.json"
    checksum = hashlib.sha256(content).hexdigest()
    stored = None
    with contextlib.suppress(OSError, ValueError):
        stored = json.loads(read_file(record_path)).get("sha256")
    if stored not in (None, checksum):
        raise ResourceError(
            f"model {name!r} from {address} has changed since it was first downloaded (SHA-256 "
            f"{checksum}, before {stored}); remove {record_path} to accept the new version"
        )
    with disk_errors(target):
        cache.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=str(cache)))
        try:
            for path, data in files.items():
                file = temporary / "model" / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
            replace_file(
                record_path, json.dumps({"url": address, "sha256": checksum}, indent=1).encode()
            )
            if not target.exists():
                os.rename(temporary / "model", target)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return target
