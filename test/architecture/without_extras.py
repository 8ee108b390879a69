"""Prove that each extra can be deleted.

    ./bootstrap exec python3 test/architecture/without_extras.py          # as in bootstrap test
    ./bootstrap exec python3 test/architecture/without_extras.py scenic   # fast tests without it
    ./bootstrap exec python3 test/architecture/without_extras.py scenic -- test/campaign -x

Without arguments: in a copy of the checkout without extras, all modules can be imported, all tests
can be collected, and the fast tests in ``SMOKE`` pass. Then, with each extra as the
only one, its modules and plug-ins can be imported and its tests collected. An extra NAME consists
of ``src/gz_testauto/extras/NAME``, ``test/extras/NAME``, ``docs/NAME.md``,
``docs/reference/NAME.md``, ``docs/measurements/NAME.md``, ``config/NAME``, and if it has a node,
``scripts/NAME`` and ``test/ros/NAME.test``. The exit status is 1 if something fails.
"""

import argparse
import contextlib
import importlib
import os
import pkgutil
import shutil
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
EXTRAS = CHECKOUT / "src" / "gz_testauto" / "extras"
GUIDES = {"search": "failures"}  # guides that do not have the name of their extra
FAST = ("-m", "not slow and not gazebo and not gazebo_ros and not ros")
SMOKE = (
    "test/campaign/test_selected_trials.py",
    "test/cli/test_examples.py",
    "test/cli/test_main.py",
    "test/spec",
)
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]


def files_of(extra):
    """Return the beginnings of the paths of an extra's files."""
    return (
        f"src/gz_testauto/extras/{extra}/",
        f"test/extras/{extra}/",
        f"docs/{GUIDES.get(extra, extra)}.md",
        f"docs/reference/{extra}.md",
        f"docs/measurements/{extra}.md",
        f"config/{extra}/",
        f"scripts/{extra}",
        f"test/ros/{extra}.test",
    )


def copy_files(place, is_copied):
    """Copy the tracked files whose path fulfills a condition into ``place``."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        source = CHECKOUT / name
        if source.is_file() and is_copied(name):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            copy_compiled(source.parent, (place / name).parent)
            shutil.copy2(str(source), str(place / name))


def copy_compiled(folder, copy):
    """Copy the compiled code of a folder, by Python, pytest and numba. They use it only for a
    source of the same size and time; to compile it again takes up to a minute in each copy."""
    if not (folder / "__pycache__").is_dir() or (copy / "__pycache__").is_dir():
        return
    (copy / "__pycache__").mkdir()
    for source in (folder / "__pycache__").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a temporary file of another process
            shutil.copy2(str(source), str(copy / "__pycache__" / source.name))


def copy_without(extras, place):
    """Copy the checkout without some extras, as a git repository with the generated messages."""
    deleted = tuple(beginning for extra in extras for beginning in files_of(extra))
    copy_files(place, lambda name: not name.startswith(deleted))
    for generated in ("msg", "srv"):  # built by catkin, not in the checkout
        try:
            module = importlib.import_module(f"gz_testauto.{generated}")
        except ImportError:
            continue
        (place / "src" / "gz_testauto" / generated).symlink_to(Path(module.__file__).parent)
    subprocess.run(["git", "init", "--quiet", str(place)], check=True)
    subprocess.run(["git", "add", "--all"], cwd=place, check=True)


def passes(title, place, command):
    """Return whether a command succeeds in a copy; print its last line, or its output."""
    paths = [str(place / "src"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    process = subprocess.run(
        command,
        cwd=place,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return succeeded(title, process.returncode, process.stdout)


def succeeded(title, status, output):
    lines = output.strip().splitlines() or [""]
    if status:
        print(f"{title}: FAILED", *lines[-40:], sep="\n", flush=True)
    else:
        print(f"{title}: {lines[-1]}", flush=True)
    return status == 0


def import_modules(name):
    """Import a package with all of its modules."""
    from gz_testauto.base.errors import MissingDependencyError

    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, name + "."):
        try:
            importlib.import_module(module.name)
        except MissingDependencyError as error:  # a library that is too large for the tests
            print(f"not imported: {module.name}: {error}")


def forget_modules():
    for name in [name for name in sys.modules if name.partition(".")[0] == "gz_testauto"]:
        del sys.modules[name]
    importlib.invalidate_caches()


def import_and_collect(package, folder):
    """Import a package and all plug-ins, and collect the tests of a folder. Return the status."""
    from gz_testauto.base.registry import extra_plugins, load_object

    import_modules(package)
    for plugins in extra_plugins().values():
        for _, reference in plugins.values():
            load_object(reference)
    return pytest.main(["-q", "-p", "no:cacheprovider", "--collect-only", folder])


def can_be_collected(title, package, folder):
    """Return whether :func:`import_and_collect` succeeds in a copy of this process. A new process
    would load the libraries again."""
    with tempfile.TemporaryFile("w+") as output:
        process = os.fork()
        if process == 0:
            status = 1
            try:
                os.dup2(output.fileno(), 1)
                os.dup2(output.fileno(), 2)
                status = int(import_and_collect(package, folder))
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        status = os.waitpid(process, 0)[1]
        output.seek(0)
        return succeeded(title, status, output.read())


def prove_all(place):
    """Yield for the core and for each extra whether it works without the other extras."""
    extras = sorted(path.parent.name for path in EXTRAS.glob("*/__init__.py"))
    copy_without(extras, place)
    yield passes("fast tests of the core alone", place, [*PYTEST, *FAST, *SMOKE])
    os.chdir(place)
    sys.path.insert(0, str(place / "src"))
    forget_modules()  # of the checkout
    with contextlib.suppress(Exception):  # which the core alone reports
        import_modules("gz_testauto")  # loads the libraries of the core
    forget_modules()
    yield can_be_collected("core alone", "gz_testauto", "test")
    for extra in extras:
        copy_files(place, lambda name: name.startswith(files_of(extra)))  # noqa: B023
        package, tests = f"gz_testauto.extras.{extra}", f"test/extras/{extra}"
        yield can_be_collected(f"core and {extra}", package, tests)
        shutil.rmtree(str(place / "src" / "gz_testauto" / "extras" / extra))


def main():
    names, further = sys.argv[1:], []
    if "--" in names:
        names, further = names[: names.index("--")], names[names.index("--") + 1 :]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("extras", nargs="*", help="run the fast tests without these extras")
    extras = parser.parse_args(names).extras
    with tempfile.TemporaryDirectory(prefix="without_extras_") as folder:
        place = Path(folder)
        if extras:
            copy_without(extras, place)
            tests = [*PYTEST, *(further or [*FAST, "test"])]
            return 0 if passes(f"without {', '.join(extras)}", place, tests) else 1
        return 0 if all(list(prove_all(place))) else 1


if __name__ == "__main__":
    sys.exit(main())
