"""Build the files of a release: the source distribution, the wheel and their checksums.

    ./bootstrap exec python3 test/packaging/build_release.py DIRECTORY

Two builds of one commit are equal, byte by byte: times are those of the commit, and owners and
permissions do not depend on the machine.
"""

import argparse
import contextlib
import gzip
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from gz_testauto.base.disk import hash_file

CHECKOUT = Path(__file__).resolve().parents[2]


def build(out):
    """Write the files of a release into the existing directory ``out``."""
    time_s = int(_git("log", "-1", "--format=%ct"))
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(time_s)}
    with tempfile.TemporaryDirectory() as folder:
        for name in filter(None, _git("ls-files", "-z", "-co", "--exclude-standard").split("\0")):
            path = Path(folder, "tree", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(str(CHECKOUT / name), str(path))
            path.chmod(_mode(path.stat().st_mode))  # a wheel contains the permissions of its files
        subprocess.run(
            [
                *(sys.executable, "setup.py", "-q"),
                *("sdist", "-d", folder, "bdist_wheel", "-d", folder),
            ],
            cwd=f"{folder}/tree",
            env=environment,
            check=True,
        )
        (wheel,) = Path(folder).glob("*.whl")
        (sdist,) = Path(folder).glob("*.tar.gz")
        shutil.copyfile(str(wheel), str(out / wheel.name))
        _copy_without_machine(sdist, out / sdist.name, time_s)
    files = (out / wheel.name, out / sdist.name)
    sums = (f"{hash_file(path)}  {path.name}\n" for path in files)
    (out / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")


def _copy_without_machine(sdist, copy, time_s):
    # setuptools writes the times of files, the owner, and the order of the file system
    with contextlib.ExitStack() as closed_at_exit:
        source = closed_at_exit.enter_context(tarfile.open(str(sdist)))
        stream = closed_at_exit.enter_context(open(str(copy), "wb"))
        compressed = closed_at_exit.enter_context(
            gzip.GzipFile("", "wb", fileobj=stream, mtime=time_s)
        )
        target = closed_at_exit.enter_context(tarfile.open(fileobj=compressed, mode="w"))
        for member in sorted(source.getmembers(), key=lambda member: member.name):
            member.mtime, member.mode = time_s, _mode(member.mode)
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.pax_headers = {}
            target.addfile(member, source.extractfile(member) if member.isfile() else None)


def _git(*arguments):
    return subprocess.check_output(["git", *arguments], cwd=str(CHECKOUT), encoding="utf-8")


def _mode(mode):
    return 0o755 if mode & 0o100 else 0o644


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("directory", type=Path)
    directory = parser.parse_args().directory
    directory.mkdir(parents=True, exist_ok=True)
    build(directory)
    print((directory / "SHA256SUMS").read_text(encoding="utf-8"), end="")


if __name__ == "__main__":
    main()
