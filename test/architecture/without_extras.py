"""Run fast tests in copies of the checkout from which extras were deleted.

    ./bootstrap exec python3 test/architecture/without_extras.py          # as in bootstrap test
    ./bootstrap exec python3 test/architecture/without_extras.py scenic   # delete only this one
    ./bootstrap exec python3 test/architecture/without_extras.py scenic -- test/campaign -x

Without arguments, the fast tests of the core run in a copy without extras, and those of each extra
in a copy whose only extra it is. So no test depends on another extra, and each extra can be
deleted. In a copy without an extra NAME, these files are missing: ``src/gz_testauto/extras/NAME``,
``test/extras/NAME``, ``docs/NAME.md``, ``docs/reference/NAME.md``, ``config/NAME``, and if the
extra has a node, ``scripts/NAME`` and ``test/ros/NAME.test``. The exit status is 1 if a test fails.
"""

import argparse
import contextlib
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
EXTRAS = CHECKOUT / "src" / "gz_testauto" / "extras"
FAST = ("-m", "not slow and not gazebo and not gazebo_ros and not ros")


def copy_without(extras, place):
    """Copy the tracked files into ``place``, except the files of the extras."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        check=True,
    )
    deleted = tuple(
        path
        for extra in extras
        for path in (
            f"src/gz_testauto/extras/{extra}/",
            f"test/extras/{extra}/",
            f"docs/{extra}.md",
            f"docs/reference/{extra}.md",
            f"config/{extra}/",
            f"scripts/{extra}",
            f"test/ros/{extra}.test",
        )
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        source = CHECKOUT / name
        if name.startswith(deleted) or not source.is_file():
            continue
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        copy_compiled(source.parent, (place / name).parent)
        shutil.copy2(str(source), str(place / name))
    for generated in ("msg", "srv"):  # built by catkin, not in the checkout
        try:
            module = importlib.import_module(f"gz_testauto.{generated}")
        except ImportError:
            continue
        (place / "src" / "gz_testauto" / generated).symlink_to(Path(module.__file__).parent)
    subprocess.run(["git", "init", "--quiet", str(place)], check=True)
    subprocess.run(["git", "add", "--all"], cwd=place, check=True)


def copy_compiled(folder, copy):
    """Copy the compiled code of a folder, by Python, pytest and numba. They use it only for a
    source of the same size and time; to compile it again takes up to a minute in each copy."""
    if not (folder / "__pycache__").is_dir() or (copy / "__pycache__").is_dir():
        return
    (copy / "__pycache__").mkdir()
    for source in (folder / "__pycache__").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a temporary file of another process
            shutil.copy2(str(source), str(copy / "__pycache__" / source.name))


def pytest(place, arguments):
    """Run pytest in the copy; returns the exit status and the output."""
    paths = [str(place / "src"), os.environ.get("PYTHONPATH", "")]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    ran = subprocess.run(
        command,
        cwd=place,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return ran.returncode, ran.stdout


def check(title, deleted, arguments):
    """Return whether pytest passes without some extras; print the output of a failure."""
    with tempfile.TemporaryDirectory(prefix="without_extras_") as folder:
        copy_without(deleted, Path(folder))
        status, output = pytest(Path(folder), arguments)
    lines = output.strip().splitlines()
    if status:
        print(f"{title}: FAILED", *lines[-40:], sep="\n", flush=True)
    else:
        print(f"{title}: {lines[-1]}", flush=True)
    return status == 0


def main():
    own, further = sys.argv[1:], []
    if "--" in own:
        own, further = own[: own.index("--")], own[own.index("--") + 1 :]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("extras", nargs="*", help="extras to delete in turn")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    arguments = parser.parse_args(own)
    every = sorted(path.parent.name for path in EXTRAS.glob("*/__init__.py"))
    checks = [
        (f"without {name}", [name], further or [*FAST, "test"]) for name in arguments.extras
    ] or [
        ("core alone", every, [*FAST, "test"]),
        *(
            (
                f"core and {name}",
                [one for one in every if one != name],
                [*FAST, f"test/extras/{name}"],
            )
            for name in every
        ),
    ]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        passed = list(pool.map(lambda one: check(*one), checks))
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
