"""Write and read packs: zip files with the results of one campaign.

A pack contains the files of a results directory without those of running processes, and three
further files: ``ro-crate-metadata.json`` (RO-Crate 1.1, which research archives read),
``environment.json`` (the Python packages of the machine that packed the results) and
``checksums.sha256``, in the format of ``sha256sum``. The same files result in the same bytes.
"""

import contextlib
import hashlib
import json
import os
import platform
import re
import shutil
import stat
import zipfile
import zlib
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Any, Callable, Dict, Iterator, List, Mapping
from urllib.parse import quote

from gz_testauto import __version__
from gz_testauto.base.disk import (
    PARTIAL_SUFFIX,
    make_scratch_directory,
    read_file,
    replaced_file,
    require_regular,
)
from gz_testauto.base.errors import ResultsError
from gz_testauto.base.scratch import scratch_directory
from gz_testauto.results.directory import LOCK_NAME, CampaignDirectory, reporting_disk

CRATE, ENVIRONMENT, CHECKSUMS = "ro-crate-metadata.json", "environment.json", "checksums.sha256"
"""Files that a pack contains in addition to the files of the results directory."""

MOST_FILES = 1_000_000
MOST_GROWTH, FREE_GROWTH_BYTES = 100, 100_000_000  # the ratio of recordings is about 2
"""Largest ratio of the size of the unpacked files to the size of the pack, and the size (bytes) to
which the ratio does not apply."""
MOST_LISTED_BYTES = 500_000_000  # largest size of the file with the checksums

_CHUNK = 1 << 20
_TIME = (1980, 1, 1, 0, 0, 0)  # constant, so that equal files give equal bytes
_STORED = (".npz", ".bag", ".gz", ".png")  # suffixes of files that are compressed already
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def pack(directory: Path, file: Path) -> int:
    """Write the results of a campaign into the new file ``file``, and return the number of its
    files. Raise ``ResultsError`` if the directory contains no campaign, if a process writes into
    it, or if ``file`` exists or cannot be written."""
    campaign = CampaignDirectory(directory)
    campaign.require_begun()
    if os.path.lexists(file):
        raise ResultsError(f"{file}: exists already; specify another name")
    with campaign.unchanged(), reporting_disk(file):
        names = _files_of(campaign.path)
        with replaced_file(file) as stream, zipfile.ZipFile(stream, "w") as archive:
            listed = {name: _add_file(archive, campaign.path / name, name) for name in names}
            environment = _json_text(_python_environment())
            listed[ENVIRONMENT] = _add_text(archive, ENVIRONMENT, environment)
            sizes = {name: (campaign.path / name).stat().st_size for name in names}
            sizes[ENVIRONMENT] = len(environment.encode())
            crate = _json_text(_crate(campaign, sizes, listed))
            listed[CRATE] = _add_text(archive, CRATE, crate)
            lines = (f"{digest}  {name}\n" for name, digest in sorted(listed.items()))
            _add_text(archive, CHECKSUMS, "".join(lines))
    return len(listed) + 1


def unpack(file: Path, directory: Path) -> int:
    """Write the files of a pack into the new directory ``directory``, and return their number.

    Raise ``ResultsError``, without creating the directory, if the file is not a pack, if a name
    could be outside of the directory, if an entry is not a plain file or appears twice, if the
    content is much larger than the pack, or if a checksum is wrong.
    """
    if os.path.lexists(directory):
        raise ResultsError(f"{directory}: exists already; specify a new directory")
    require_regular(file, ResultsError)
    with reporting_disk(directory):
        directory.parent.mkdir(parents=True, exist_ok=True)
        scratch = make_scratch_directory(directory)
        try:
            count = _extract_all(file, scratch)
            os.rename(scratch, directory)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return count


@contextlib.contextmanager
def unpacked(file: Path) -> Iterator[Path]:
    """Provide a read-only temporary directory with the files of a pack. Raise the errors of
    :func:`unpack`."""
    with scratch_directory() as folder:
        directory = folder / file.name
        unpack(file, directory)
        _set_writable(directory, False)
        try:
            yield directory
        finally:
            _set_writable(directory, True)


def _set_writable(directory: Path, writable: bool) -> None:
    for folder, _, files in os.walk(directory):
        os.chmod(folder, 0o700 if writable else 0o500)
        for name in files:
            os.chmod(os.path.join(folder, name), 0o600 if writable else 0o400)


def _files_of(directory: Path) -> List[str]:
    """Return the sorted names of the files to pack. Raise ``ResultsError`` for a special file."""
    names = []
    for path in sorted(directory.rglob("*")):
        name = path.relative_to(directory).as_posix()
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            continue
        if not stat.S_ISREG(mode):
            raise ResultsError(f"{path}: is not a plain file, so it cannot be packed; remove it")
        skipped = name == LOCK_NAME or name.endswith(PARTIAL_SUFFIX)
        if not (skipped or name in (CRATE, ENVIRONMENT, CHECKSUMS)):
            names.append(name)
    return names


def _zip_entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _TIME)
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    stored = name.endswith(_STORED)
    entry.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
    return entry


def _add_file(archive: zipfile.ZipFile, path: Path, name: str) -> str:
    """Add a file, and return its SHA-256."""
    entry = _zip_entry(name)
    entry.file_size = path.stat().st_size
    with open(path, "rb") as source, archive.open(entry, "w") as target:
        return _copy(source, target.write)


def _add_text(archive: zipfile.ZipFile, name: str, text: str) -> str:
    """Add a file that contains ``text``, and return its SHA-256."""
    archive.writestr(_zip_entry(name), text.encode())
    return hashlib.sha256(text.encode()).hexdigest()


def _copy(source: Any, write: Callable[[bytes], Any], most_bytes: float = float("inf")) -> str:
    """Copy a stream, and return its SHA-256. Raise ``ResultsError`` if it is longer than
    ``most_bytes``.
    """
    digest, copied = hashlib.sha256(), 0
    for chunk in iter(lambda: source.read(_CHUNK), b""):
        copied += len(chunk)
        if copied > most_bytes:
            raise ResultsError("an entry is longer than its header states")
        digest.update(chunk)
        write(chunk)
    return digest.hexdigest()


def _python_environment() -> Dict[str, Any]:
    packages = {
        str(distribution.metadata["Name"]): distribution.version
        for distribution in metadata.distributions()
        if distribution.metadata
    }
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "packages": dict(sorted(packages.items())),
    }


def _crate(
    campaign: CampaignDirectory, sizes: Mapping[str, int], hashes: Mapping[str, str]
) -> Dict[str, Any]:
    """Return the metadata of a pack by RO-Crate 1.1. Its date is that of the manifest."""
    name = str(json.loads(read_file(campaign.manifest)).get("campaign", ""))
    written_s = campaign.manifest.stat().st_mtime
    date = datetime.fromtimestamp(written_s, timezone.utc).date().isoformat()
    files = [
        {
            "@id": quote(file),
            "@type": "File",
            "name": file,
            "contentSize": str(size),
            "sha256": hashes[file],
        }
        for file, size in sorted(sizes.items())
    ]
    return {
        "@context": [
            "https://w3id.org/ro/crate/1.1/context",
            {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"},
        ],
        "@graph": [
            {
                "@id": CRATE,
                "@type": "CreativeWork",
                "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
                "about": {"@id": "./"},
            },
            {
                "@id": "./",
                "@type": "Dataset",
                "name": f"Results of the campaign {name}",
                "description": "Trials of mobile-robot navigation in simulated worlds: manifest, "
                "worlds, result rows and recordings. `gz_testauto pack --extract` reads this pack.",
                "datePublished": date,
                "license": "Not specified by the author of the results.",
                "hasPart": [{"@id": file["@id"]} for file in files],
                "mentions": {"@id": "#gz_testauto"},
            },
            {
                "@id": "#gz_testauto",
                "@type": "SoftwareApplication",
                "name": "gz_testauto",
                "softwareVersion": __version__,
            },
            *files,
        ],
    }


def _json_text(content: Any) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


# ---- reading


def _extract_all(file: Path, directory: Path) -> int:
    """Extract the entries of the pack ``file``, and return their number."""
    try:
        with zipfile.ZipFile(file) as archive:
            # A pack can be from an untrusted source, so all entries are checked before writing.
            entries = _checked_entries(archive, file, directory)
            checksums = _checksums(archive, entries, file)
            for name, entry in entries.items():
                _extract_entry(archive, entry, directory / name, checksums.get(name), file)
            return len(entries)
    except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
        if isinstance(error, OSError) and os.path.isfile(file):
            raise
        raise ResultsError(f"{file}: is not a pack: {error}; specify a file of `pack`") from error
    except zlib.error as error:
        raise ResultsError(f"{file}: is damaged: {error}; copy the original again") from error


def _checked_entries(
    archive: zipfile.ZipFile, file: Path, directory: Path
) -> Dict[str, zipfile.ZipInfo]:
    """Return the entries of a pack by name. Raise ``ResultsError`` for an unsafe entry."""
    infos = archive.infolist()
    if len(infos) > MOST_FILES:
        raise ResultsError(f"{file}: has {len(infos)} files; a pack has at most {MOST_FILES}")
    total = sum(info.file_size for info in infos)
    most_bytes = max(FREE_GROWTH_BYTES, MOST_GROWTH * os.path.getsize(file))
    if total > most_bytes:
        raise ResultsError(
            f"{file}: would unpack to {total} bytes, more than {MOST_GROWTH} times its size; it is "
            "not a pack of results"
        )
    free = shutil.disk_usage(directory).free
    if total > free:
        raise ResultsError(
            f"{file}: needs {total} bytes in {directory.parent}, but only {free} are free; free "
            "space, or choose another directory (TMPDIR for temporary ones)"
        )
    entries: Dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        reason = _unsafe(info)
        if reason:
            raise ResultsError(f"{file}: the entry {info.orig_filename!r} {reason}; not unpacked")
        if info.filename in entries:
            raise ResultsError(f"{file}: the entry {info.filename!r} appears twice; not unpacked")
        entries[info.filename] = info
    for name in entries:
        for parent in PurePosixPath(name).parents:
            if str(parent) in entries:
                raise ResultsError(f"{file}: {str(parent)!r} is a file and a folder; not unpacked")
    return entries


def _unsafe(info: zipfile.ZipInfo) -> str:
    """Return the reason why it is not safe to extract an entry, or an empty text."""
    name, mode = info.orig_filename, info.external_attr >> 16
    if any(ord(character) < 32 or character in "\\:" for character in name):
        return "has a name with a control character, a backslash or a colon"
    if name.startswith("/") or any(part in ("", ".", "..") for part in name.split("/")):
        return "has a name that is absolute, is a folder, or leaves the directory"
    if len(name.encode("utf-8", "replace")) > 1000:
        return "has a name of more than 1000 bytes"
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return "is a symbolic link or another special file"
    if info.flag_bits & 0x1:
        return "is encrypted"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "has a compression that packs do not use"
    return ""


def _checksums(
    archive: zipfile.ZipFile, entries: Mapping[str, zipfile.ZipInfo], file: Path
) -> Dict[str, str]:
    """Return the hashes of all entries from the file of checksums in a pack.

    Raises ``ResultsError`` unless that file lists all other entries and nothing else.
    """
    if CHECKSUMS not in entries or entries[CHECKSUMS].file_size > MOST_LISTED_BYTES:
        raise ResultsError(f"{file}: has no {CHECKSUMS}; specify a file of `gz_testauto pack`")
    text = archive.read(entries[CHECKSUMS]).decode("utf-8", "replace")
    checksums: Dict[str, str] = {}
    for line in text.split("\n")[:-1]:
        match = _LINE.fullmatch(line)
        if match is None or match.group(2) in checksums:
            raise ResultsError(f"{file}: {CHECKSUMS} has the invalid line {line[:80]!r}")
        checksums[match.group(2)] = match.group(1)
    different = sorted(set(checksums) ^ (set(entries) - {CHECKSUMS}))
    if different:
        raise ResultsError(
            f"{file}: {different[0]!r} is not both in the pack and in {CHECKSUMS}; the pack has "
            "changed, so copy the original again"
        )
    return checksums


def _extract_entry(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path, expected: Any, file: Path
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(entry) as source, open(path, "xb") as target:
        digest = _copy(source, target.write, entry.file_size)
    if expected is not None and digest != expected:
        raise ResultsError(
            f"{file}: the checksum of {entry.filename!r} is wrong; the pack has changed, so copy "
            "the original again"
        )
