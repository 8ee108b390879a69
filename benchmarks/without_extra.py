"""Delete each extra in turn from a copy of the checkout, and run tests of what remains.

    ./bootstrap exec python3 benchmarks/without_extra.py                # imports and structure
    ./bootstrap exec python3 benchmarks/without_extra.py --fast         # all fast tests
    ./bootstrap exec python3 benchmarks/without_extra.py --together     # one copy without any
    ./bootstrap exec python3 benchmarks/without_extra.py scenic -- test/campaign -x

Deletes ``src/gz_testauto/extras/NAME``, ``test/extras/NAME``, ``docs/NAME.md`` and ``config/NAME``,
and if the extra has a node, ``scripts/NAME`` and ``test/ros/NAME.test``.
Without further arguments, all test modules are imported (``--collect-only``), which finds every
import of the extra, and the tests of the architecture, of the registries and of the command line
run. The exit status is 1 if any extra fails.
"""

import argparse
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
EXTRAS = CHECKOUT / "src" / "gz_testauto" / "extras"
STRUCTURE = ("test/architecture", "test/base/test_registry.py", "test/cli/test_main.py")
FAST = ("-m", "not slow and not gazebo and not gazebo_ros and not ros", "test")


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
        shutil.copy2(str(source), str(place / name))
    for generated in ("msg", "srv"):  # built by catkin, not in the checkout
        try:
            module = importlib.import_module(f"gz_testauto.{generated}")
        except ImportError:
            continue
        (place / "src" / "gz_testauto" / generated).symlink_to(Path(module.__file__).parent)
    subprocess.run(["git", "init", "--quiet", str(place)], check=True)
    subprocess.run(["git", "add", "--all"], cwd=place, check=True)


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


def check(extras, runs):
    """Whether all runs pass without the extras; prints the output of one that fails."""
    extra = ", ".join(extras)
    with tempfile.TemporaryDirectory(prefix="without_extra_") as folder:
        copy_without(extras, Path(folder))
        for arguments in runs:
            status, output = pytest(Path(folder), arguments)
            lines = output.strip().splitlines()
            if status:
                print(f"without {extra}: FAILED", *lines[-40:], sep="\n", flush=True)
                return False
            print(f"without {extra}: {lines[-1]}", flush=True)
    return True


def main():
    own, further = sys.argv[1:], []
    if "--" in own:
        own, further = own[: own.index("--")], own[own.index("--") + 1 :]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("extras", nargs="*", help="default: all")
    parser.add_argument("--fast", action="store_true", help="run all fast tests")
    parser.add_argument("--together", action="store_true", help="delete all of them in one copy")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    arguments = parser.parse_args(own)
    names = arguments.extras or sorted(path.parent.name for path in EXTRAS.glob("*/__init__.py"))
    runs = [["--collect-only", "test"], list(STRUCTURE)]
    if arguments.fast:
        runs = [list(FAST)]
    if further:
        runs = [further]
    copies = [names] if arguments.together else [[name] for name in names]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        return 0 if all(list(pool.map(lambda copy: check(copy, runs), copies))) else 1


if __name__ == "__main__":
    sys.exit(main())
