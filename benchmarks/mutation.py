"""Measure how many mutants of the package the tests detect, on a random sample per folder.

    ./bootstrap exec pip install "cosmic-ray>=8.7,<9" "coverage>=7.2,<8"
    ./bootstrap exec python3 benchmarks/mutation.py                          # all six folders
    ./bootstrap exec python3 benchmarks/mutation.py metrics --seed 2 --size 100
    ./bootstrap exec python3 benchmarks/mutation.py metrics --module metrics/safety.py --size 0

cosmic-ray makes the mutants: one operator, number, keyword, condition or decorator of a source
file changed. mutmut 3 does not mutate decorated functions, so it has no mutants of a function
with ``@metric``. Three kinds are left out: annotations, which type checkers judge; bitwise for
arithmetic operators, which raise TypeError for any float, and ``~`` for a minus likewise; ``is``
for ``==``, which depends on how Python stores small numbers and texts.

``--size`` mutants are drawn per folder (0: all), by ``--seed``. Each runs in a copy of the
checkout: first the tests of the folder of the same name that execute the changed line, then the
other tests of their files (all tests of the folder for a line that only an import executes), then,
with ``--elsewhere``, the tests of other folders that execute the line. Tests marked slow are
included with ``--slow``, those that need ROS or Gazebo never.

=========== ====================================================================================
killed      a test fails, or the module cannot be imported
timeout     the tests use ten times the processor time of the original, or do not end
survived    all tests pass
equivalent  survived, and listed with the reason in ``mutation_equivalents.txt``
=========== ====================================================================================

The score is the share of killed and timeout among all sampled mutants except the equivalent ones,
with its 95 % interval of Clopper and Pearson. The exit status is 1 if a score is below 85 %.
"""

import argparse
import ast
import collections
import contextlib
import difflib
import importlib
import itertools
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

CHECKOUT = Path(__file__).resolve().parents[1]
EQUIVALENTS = CHECKOUT / "benchmarks" / "mutation_equivalents.txt"
FOLDERS = ("trial", "metrics", "analysis", "sampling", "results", "worlds")
BITWISE = ("BitAnd", "BitOr", "BitXor", "LShift", "RShift")
NO_SERVER = "not ros and not gazebo and not gazebo_ros"
MEMORY_BYTES = 8 * 2**30
MIN_CPU_S = 20
STALLED_S = 300


class Mutant(NamedTuple):
    """One change of one file."""

    module: str
    operator: str
    occurrence: int
    line: int


class Baseline(NamedTuple):
    """Results of the tests of some folders on the original."""

    seconds: dict
    """Processor time by test."""
    lines: dict
    """Tests that execute a line, by module and line; the empty test is an import."""
    modules: list
    """Modules of other packages that the tests import."""


# --- mutants ------------------------------------------------------------------------------------


def list_mutants(copy, folder):
    """All mutants of a folder in the order of files, operators and occurrences."""
    import cosmic_ray.plugins
    from cosmic_ray.ast import ast_nodes, get_ast

    operators = []
    for name in sorted(cosmic_ray.plugins.operator_names()):
        operator = cosmic_ray.plugins.get_operator(name)
        if not operator.arguments() and not _is_left_out(name):
            operators.append((name, operator()))
    for path in sorted((copy / "src" / "gz_testauto" / folder).rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        annotations = _annotations(source)
        nodes = list(ast_nodes(get_ast(source)))
        for name, operator in operators:
            positions = [
                (start, node) for node in nodes for start, _ in operator.mutation_positions(node)
            ]
            for occurrence, (start, node) in enumerate(positions):
                annotated = any(first <= start < last for first, last in annotations)
                if not annotated and not _is_unpacking(node):
                    yield Mutant(str(path.relative_to(copy)), name, occurrence, start[0])


def _is_left_out(operator):
    kind, _, change = operator.partition("Operator_")
    before, _, after = change.partition("_")
    if kind.endswith("ReplaceBinary"):
        return (before in BITWISE) != (after in BITWISE)
    if kind.endswith("ReplaceComparison"):
        return not before.startswith("Is") and after in ("Is", "IsNot")
    return operator in ("core/NoOp", "core/ReplaceUnaryOperator_USub_Invert")


def _is_unpacking(node):
    """Return whether an operator is the star of a signature or two stars in a dictionary."""
    parent = node.parent.type if node.parent else ""
    return node.type == "operator" and (
        parent == "parameters" or (node.value == "**" and parent in ("dictorsetmaker", "atom"))
    )


def _annotations(source):
    """Positions between which annotations are located."""
    found = []
    for node in ast.walk(ast.parse(source)):
        for name in ("annotation", "returns"):
            part = getattr(node, name, None)
            if part is not None:
                found.append(
                    ((part.lineno, part.col_offset), (part.end_lineno, part.end_col_offset))
                )
    return found


def mutate(source, mutant):
    """The source of the mutant."""
    import cosmic_ray.plugins
    from cosmic_ray.mutating import mutate_code

    operator = cosmic_ray.plugins.get_operator(mutant.operator)()
    return mutate_code(source, operator, mutant.occurrence)


def can_apply(copy, mutant):
    """Return whether cosmic-ray can apply a mutant; it cannot replace a dotted exception."""
    try:
        mutate((copy / mutant.module).read_text(encoding="utf-8"), mutant)
    except AttributeError:
        return False
    return True


def changed_lines(before, after):
    """The text of the lines that differ, without indentation: those removed and those added."""
    lines = list(difflib.ndiff(before.splitlines(), after.splitlines()))
    removed = [line[2:].strip() for line in lines if line.startswith("- ")]
    added = [line[2:].strip() for line in lines if line.startswith("+ ")]
    return " ".join(removed), " ".join(added)


def read_equivalents():
    """Reasons by module, original line and mutated line."""
    reasons = {}
    if EQUIVALENTS.exists():
        blocks = EQUIVALENTS.read_text(encoding="utf-8").split("\n\n")
        for block in blocks:
            lines = [line for line in block.splitlines() if line and not line.startswith("#")]
            if lines:
                module, before, after, *reason = lines
                reasons[module, before[2:].strip(), after[2:].strip()] = " ".join(reason)
    return reasons


# --- running tests ------------------------------------------------------------------------------


def copy_checkout(place):
    """Copy the tracked and new files, with what numba and catkin have compiled."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        check=True,
    )
    names = listed.stdout.decode().split("\0")
    names += [str(path.relative_to(CHECKOUT)) for path in CHECKOUT.glob("src/**/*.nb[ic]")]
    for name in filter(None, names):
        source = CHECKOUT / name
        if source.is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(str(source), str(place / name))
    for path in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        for generated in ("msg", "srv"):  # built by catkin, not in the checkout
            source, link = Path(path, "gz_testauto", generated), place / "src/gz_testauto"
            if path and source.is_dir() and not (link / generated).exists():
                (link / generated).symlink_to(source)
    subprocess.run(["git", "init", "--quiet", str(place)], check=True)
    subprocess.run(["git", "add", "--all"], cwd=str(place), check=True)


def in_child(copy, call, cpu_s=None):
    """Run a function in a forked process; returns its exit status, or "timeout"."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        status = 99
        try:
            os.setsid()
            _enter(copy, cpu_s)
            status = int(call())
        except BaseException as error:
            print(repr(error))
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
            os._exit(status)
    limit_s = time.monotonic() + (STALLED_S + 4 * cpu_s if cpu_s else 7200)
    status = None
    while status is None and time.monotonic() < limit_s:
        time.sleep(0.02)
        ended, code = os.waitpid(pid, os.WNOHANG)
        status = code if ended else None
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # with what the tests have started
    if status is None:
        os.waitpid(pid, 0)
    if status is None or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU):
        return "timeout"
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _enter(copy, cpu_s):
    os.chdir(str(copy))
    paths = [str(copy / "src")]
    sys.path[:] = paths + sys.path
    kept = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(paths + [path for path in kept if path])
    if cpu_s:  # a mutant; the baseline leaves the bytecode of the original
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        sys.dont_write_bytecode = True
    log = os.open(str(copy.parent / "log"), os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if cpu_s:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def pytest_arguments(slow):
    marks = NO_SERVER if slow else NO_SERVER + " and not slow"
    return ["-q", "-m", marks, "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly"]


def measure_baseline(copy, folders, tests, slow):
    """Run tests on the original with coverage; returns the baseline."""
    out = copy.parent / "baseline.json"
    status = in_child(copy, lambda: _cover(copy, folders, tests, slow, out))
    if status not in (0, 1) or not out.exists():
        raise SystemExit(f"the tests fail without a mutant:\n{(copy.parent / 'log').read_text()}")
    found = json.loads(out.read_text())
    out.unlink()
    for test in found["failed"]:
        print(f"left out, fails on the original: {test}", file=sys.stderr)
    lines = collections.defaultdict(list)
    for module, line, test in found["lines"]:
        lines[module, line].append(test)
    return Baseline(found["seconds"], lines, found["modules"])


def _cover(copy, folders, tests, slow, out):
    import coverage
    import pytest

    sources = [str(copy / "src" / "gz_testauto" / folder) for folder in folders]
    measured = coverage.Coverage(data_file=None, source=sources, config_file=False)
    seconds, failed = {}, set()

    class Contexts:
        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_protocol(self, item):
            measured.switch_context(item.nodeid)
            began_s = time.process_time()
            yield
            seconds[item.nodeid] = time.process_time() - began_s
            measured.switch_context("")

        def pytest_runtest_logreport(self, report):
            if report.failed:
                failed.add(report.nodeid)

    measured.start()
    status = pytest.main([*pytest_arguments(slow), *tests], plugins=[Contexts()])
    measured.stop()
    data = measured.get_data()
    lines = []
    for name in data.measured_files():
        for line, contexts in data.contexts_by_lineno(name).items():
            module = os.path.relpath(name, str(copy))
            lines += [(module, line, test) for test in contexts if test not in failed]
    modules = [
        name
        for name, module in sorted(sys.modules.items())
        if "site-packages" in (getattr(module, "__file__", None) or "")
        or "dist-packages" in (getattr(module, "__file__", None) or "")
    ]
    modules = [name for name in modules if not name.startswith("gz_testauto")]
    seconds = {test: taken for test, taken in seconds.items() if test not in failed}
    found = {"seconds": seconds, "lines": lines, "modules": modules, "failed": sorted(failed)}
    out.write_text(json.dumps(found))
    return status


def preload(modules):
    """Import other packages once, for all mutants."""
    import pytest  # noqa: F401

    for name in modules:
        with contextlib.suppress(Exception):
            importlib.import_module(name)


# --- one mutant ---------------------------------------------------------------------------------


def stages(mutant, own, elsewhere):
    """The tests to run one after the other."""
    covering = own.lines.get((mutant.module, mutant.line), [])
    chosen = sorted(filter(None, covering), key=lambda test: own.seconds.get(test, 0.0))
    yield "own", chosen
    # A fixture runs within the first test that uses it, an import before all tests.
    files = {test.partition("::")[0] for test in chosen}
    others = [test for test in own.seconds if test.partition("::")[0] in files or not files]
    yield "own", [test for test in others if test not in set(chosen)]
    if elsewhere:
        covering = elsewhere.lines.get((mutant.module, mutant.line), [])
        yield (
            "elsewhere",
            sorted(filter(None, covering), key=lambda test: elsewhere.seconds.get(test, 0.0)),
        )


def judge(copy, mutant, own, elsewhere, slow):
    """The result of one mutant: "killed", "timeout" or "survived", and by which tests."""
    path = copy / mutant.module
    before, times = path.read_text(encoding="utf-8"), os.stat(str(path))
    after = mutate(before, mutant)
    removed, added = changed_lines(before, after)
    result = {
        **mutant._asdict(),
        "folder": Path(mutant.module).parts[2],
        "before": removed,
        "after": added,
    }
    try:
        path.write_text(after, encoding="utf-8")
        os.utime(
            str(path), (times.st_atime, times.st_mtime + 7)
        )  # bytecode is valid for a time and size
        for stage, tests in stages(mutant, own, elsewhere):
            if not tests:
                continue
            known = own.seconds if stage == "own" else elsewhere.seconds
            cpu_s = int(MIN_CPU_S + 10 * sum(known.get(test, 0.0) for test in tests))
            status = in_child(copy, lambda tests=tests: _test(tests, slow), cpu_s)
            if status != 0:
                log = (copy.parent / "log").read_text(errors="replace")
                failed = [line for line in log.splitlines() if line.startswith(("FAILED", "ERROR"))]
                verdict = "timeout" if status == "timeout" else "killed"
                reason = failed[0] if failed else f"status {status}: {log[-300:]}"
                return {**result, "verdict": verdict, "by": stage, "test": reason}
    finally:
        path.write_text(before, encoding="utf-8")
        os.utime(str(path), (times.st_atime, times.st_mtime))
    return {**result, "verdict": "survived", "by": "", "test": ""}


def _test(tests, slow):
    import pytest

    return pytest.main([*pytest_arguments(slow), "-x", "--tb=no", *tests])


def read_journal(path):
    """Results by mutant of a file that ``--out`` wrote."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    results = map(json.loads, lines)
    return {tuple(result[name] for name in Mutant._fields): result for result in results}


# --- report -------------------------------------------------------------------------------------


def report(results, totals):
    """Print the survivors and the scores; returns whether each score is at least 85 %."""
    from scipy.stats import binomtest

    reasons = read_equivalents()
    passed = True
    for folder, total in totals.items():
        counts = collections.Counter()
        for result in results:
            if result["folder"] != folder:
                continue
            key = (result["module"], result["before"].strip(), result["after"].strip())
            verdict = result["verdict"]
            if verdict == "survived" and key in reasons:
                verdict = "equivalent"
            counts[verdict] += 1
            if verdict == "survived":
                print(f"{result['module']}:{result['line']}")
                print(f"- {result['before']}\n+ {result['after']}\n")
        sampled = sum(counts.values())
        judged = sampled - counts["equivalent"]
        detected = counts["killed"] + counts["timeout"]
        if judged:
            low, high = binomtest(detected, judged).proportion_ci(0.95, "exact")
            print(
                f"{folder}: {detected}/{judged} detected, {detected / judged:.0%} "
                f"(95 % interval {low:.0%} to {high:.0%}); {counts['timeout']} of them by timeout, "
                f"{counts['equivalent']} equivalent, {sampled} sampled of {total} mutants"
            )
            passed = passed and detected >= 0.85 * judged
    return passed


def parse(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", default=FOLDERS, help="of src/gz_testauto")
    parser.add_argument("--size", type=int, default=80, help="mutants per folder; 0: all (80)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (1)")
    parser.add_argument("--module", action="append", help="only files that end like this")
    parser.add_argument("--slow", action="store_true", help="include tests marked slow")
    parser.add_argument("--elsewhere", nargs="+", metavar="TESTS", help="further folders of tests")
    parser.add_argument("--only", type=Path, help="judge again what survived in this journal")
    parser.add_argument("--out", type=Path, help="journal to append to, and to resume from")
    return parser.parse_args(arguments)


def main():
    options = parse()
    done = []
    known = read_journal(options.out) if options.out else {}
    with tempfile.TemporaryDirectory(prefix="mutation") as scratch:
        copy = Path(scratch).resolve() / "checkout"
        copy.mkdir()
        copy_checkout(copy)
        samples, totals = {}, {}
        for folder in options.folders:
            mutants = list(list_mutants(copy, folder))
            if options.module:
                mutants = [m for m in mutants if m.module.endswith(tuple(options.module))]
            totals[folder] = len(mutants)
            size = min(options.size or len(mutants), len(mutants))
            mutants = random.Random(options.seed).sample(mutants, size)
            if options.only:
                earlier = read_journal(options.only)
                mutants = [
                    mutant
                    for mutant in mutants
                    if earlier.get(tuple(mutant), {}).get("verdict") == "survived"
                ]
            samples[folder] = mutants
        elsewhere = None
        if options.elsewhere:
            elsewhere = measure_baseline(copy, options.folders, options.elsewhere, options.slow)
            preload(elsewhere.modules)
        own = {}
        for folder in samples:
            own[folder] = measure_baseline(copy, [folder], [f"test/{folder}"], options.slow)
            preload(own[folder].modules)
        # In turn and in the order drawn: what an interrupted run has judged is a sample too.
        for mutant in filter(None, itertools.chain(*itertools.zip_longest(*samples.values()))):
            if tuple(mutant) in known:
                done.append(known[tuple(mutant)])
                continue
            if not can_apply(copy, mutant):
                print(f"left out, cosmic-ray cannot apply it: {mutant}", file=sys.stderr)
                continue
            tests = own[Path(mutant.module).parts[2]]
            done.append(judge(copy, mutant, tests, elsewhere, options.slow))
            print(f"{len(done)}: {done[-1]['verdict']} {mutant.module}", file=sys.stderr)
            if options.out:
                with options.out.open("a") as journal:
                    journal.write(json.dumps(done[-1]) + "\n")
    return 0 if report(done, totals) else 1


if __name__ == "__main__":
    raise SystemExit(main())
