"""Measure how many mutants of the package the tests detect, on a random sample per folder.

    ./bootstrap exec pip install "cosmic-ray>=8.7,<9" "coverage>=7.2,<8"
    ./bootstrap exec python3 benchmarks/mutation.py                          # all six folders
    ./bootstrap exec python3 benchmarks/mutation.py metrics --seed 2 --size 100
    ./bootstrap exec python3 benchmarks/mutation.py metrics --module metrics/safety.py --size 0

cosmic-ray generates the mutants. Three kinds are omitted: annotations, which type checkers verify;
bitwise for arithmetic operators, and ``~`` for a minus, which raise TypeError for any float; ``is``
for ``==``, which depends on how Python stores small numbers and texts.

``--size`` mutants are drawn per folder. For each, these tests run in a copy of the checkout: the
tests of the folder of the same name that execute the changed line, then the other tests of their
files (all tests of the folder for a line that only an import executes), then, with ``--elsewhere``,
the tests of other folders that execute the line. Tests that need ROS or Gazebo are omitted.

=========== ====================================================================================
killed      a test fails, or the module cannot be imported
timeout     the tests use ten times the processor time of the original, or do not return
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
    """Yield all mutants of a folder in the order of files, operators and occurrences."""
    import cosmic_ray.plugins
    from cosmic_ray.ast import ast_nodes, get_ast

    operators = []
    for name in sorted(cosmic_ray.plugins.operator_names()):
        operator = cosmic_ray.plugins.get_operator(name)
        if not operator.arguments() and not _is_omitted(name):
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


def _is_omitted(operator):
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
    """Return the first and the last position of each annotation."""
    nodes = ast.walk(ast.parse(source))
    parts = [getattr(node, name, None) for node in nodes for name in ("annotation", "returns")]
    return [
        ((part.lineno, part.col_offset), (part.end_lineno, part.end_col_offset))
        for part in parts
        if part is not None
    ]


def mutate(source, mutant):
    """Return the source of the mutant."""
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
    """Return the text of the removed and of the added lines, without indentation."""
    lines = list(difflib.ndiff(before.splitlines(), after.splitlines()))
    removed = [line[2:].strip() for line in lines if line.startswith("- ")]
    added = [line[2:].strip() for line in lines if line.startswith("+ ")]
    return " ".join(removed), " ".join(added)


def read_equivalents():
    """Return the reasons by module, original line and mutated line."""
    reasons = {}
    for block in EQUIVALENTS.read_text(encoding="utf-8").split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if lines:
            module, before, after, *reason = lines
            reasons[module, before[2:].strip(), after[2:].strip()] = " ".join(reason)
    return reasons


# --- running tests ------------------------------------------------------------------------------


def copy_checkout(place):
    """Copy the tracked and new files, with the files that numba and catkin compiled."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.check_output(command, cwd=CHECKOUT, text=True).split("\0")
    names += [str(path.relative_to(CHECKOUT)) for path in CHECKOUT.glob("src/**/*.nb[ic]")]
    for name in names:
        source = CHECKOUT / name
        if source.is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, place / name)
    for path in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        for generated in ("msg", "srv"):  # built by catkin, not in the checkout
            source, link = Path(path, "gz_testauto", generated), place / "src/gz_testauto"
            if path and source.is_dir() and not (link / generated).exists():
                (link / generated).symlink_to(source)
    subprocess.run(["git", "init", "--quiet", place], check=True)
    subprocess.run(["git", "add", "--all"], cwd=place, check=True)


def in_child(copy, call, cpu_s=None):
    """Run a function in a forked process, and return its exit status or "timeout"."""
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
        os.killpg(pid, signal.SIGKILL)  # also processes of the tests
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
    """Run tests on the original with coverage, and return the baseline."""
    out = copy.parent / "baseline.json"
    status = in_child(copy, lambda: _cover(copy, folders, tests, slow, out))
    if status not in (0, 1) or not out.exists():
        raise SystemExit(f"the tests fail without a mutant:\n{(copy.parent / 'log').read_text()}")
    baseline = json.loads(out.read_text())
    out.unlink()
    for test in baseline["failed"]:
        print(f"omitted, fails on the original: {test}", file=sys.stderr)
    lines = collections.defaultdict(list)
    for module, line, test in baseline["lines"]:
        lines[module, line].append(test)
    return Baseline(baseline["seconds"], lines, baseline["modules"])


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
        if not name.startswith("gz_testauto")
        and any(
            folder in (getattr(module, "__file__", None) or "")
            for folder in ("site-packages", "dist-packages")
        )
    ]
    seconds = {test: value for test, value in seconds.items() if test not in failed}
    baseline = {"seconds": seconds, "lines": lines, "modules": modules, "failed": sorted(failed)}
    out.write_text(json.dumps(baseline))
    return status


def preload(modules):
    """Import other packages once, for all mutants."""
    import pytest  # noqa: F401

    for name in modules:
        with contextlib.suppress(Exception):
            importlib.import_module(name)


# --- one mutant ---------------------------------------------------------------------------------


def covering_tests(mutant, baseline):
    """Return the tests that execute the line of a mutant, the fastest one first."""
    tests = baseline.lines.get((mutant.module, mutant.line), [])
    return sorted(filter(None, tests), key=lambda test: baseline.seconds.get(test, 0.0))


def stages(mutant, folder, elsewhere):
    """Yield name, baseline and tests of each stage. ``folder`` and ``elsewhere`` are baselines."""
    tests = covering_tests(mutant, folder)
    yield "own", folder, tests
    # A fixture runs within the first test that uses it, an import before all tests.
    files = {test.partition("::")[0] for test in tests}
    further = [test for test in folder.seconds if test.partition("::")[0] in files or not files]
    yield "own", folder, [test for test in further if test not in set(tests)]
    if elsewhere:
        yield "elsewhere", elsewhere, covering_tests(mutant, elsewhere)


def run_mutant(copy, mutant, folder, elsewhere, slow):
    """Return the result of one mutant: "killed", "timeout" or "survived", and by which tests."""
    path = copy / mutant.module
    before, times = path.read_text(encoding="utf-8"), path.stat()
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
        # bytecode is valid for a time and size
        os.utime(path, (times.st_atime, times.st_mtime + 7))
        for stage, baseline, tests in stages(mutant, folder, elsewhere):
            if not tests:
                continue
            cpu_s = int(MIN_CPU_S + 10 * sum(baseline.seconds.get(test, 0.0) for test in tests))
            status = in_child(copy, lambda tests=tests: _test(tests, slow), cpu_s)
            if status != 0:
                log = (copy.parent / "log").read_text(errors="replace")
                failed = [line for line in log.splitlines() if line.startswith(("FAILED", "ERROR"))]
                verdict = "timeout" if status == "timeout" else "killed"
                reason = failed[0] if failed else f"status {status}: {log[-300:]}"
                return {**result, "verdict": verdict, "by": stage, "test": reason}
    finally:
        path.write_text(before, encoding="utf-8")
        os.utime(path, (times.st_atime, times.st_mtime))
    return {**result, "verdict": "survived", "by": "", "test": ""}


def _test(tests, slow):
    import pytest

    return pytest.main([*pytest_arguments(slow), "-x", "--tb=no", *tests])


def read_journal(path):
    """Return the results by mutant of a file that ``--out`` wrote."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    results = map(json.loads, lines)
    return {tuple(result[name] for name in Mutant._fields): result for result in results}


# --- report -------------------------------------------------------------------------------------


def report(results, totals):
    """Print the survivors and the scores. Return whether each score is at least 85 %."""
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
    parser.add_argument("--only", type=Path, help="run only the survivors of this journal")
    parser.add_argument("--out", type=Path, help="journal to append to, and to resume from")
    return parser.parse_args(arguments)


def sample_mutants(copy, options):
    """Return the sampled mutants and the number of all mutants of each folder."""
    samples, totals = {}, {}
    for folder in options.folders:
        mutants = list(list_mutants(copy, folder))
        if options.module:
            mutants = [m for m in mutants if m.module.endswith(tuple(options.module))]
        totals[folder] = len(mutants)
        size = min(options.size or len(mutants), len(mutants))
        mutants = random.Random(options.seed).sample(mutants, size)
        if options.only:
            results = read_journal(options.only)
            mutants = [m for m in mutants if results.get(m, {}).get("verdict") == "survived"]
        samples[folder] = mutants
    return samples, totals


def main():
    options = parse()
    results = []
    journal = read_journal(options.out) if options.out else {}
    with tempfile.TemporaryDirectory(prefix="mutation") as scratch:
        copy = Path(scratch).resolve() / "checkout"
        copy.mkdir()
        copy_checkout(copy)
        samples, totals = sample_mutants(copy, options)
        elsewhere = None
        if options.elsewhere:
            elsewhere = measure_baseline(copy, options.folders, options.elsewhere, options.slow)
            preload(elsewhere.modules)
        baselines = {}
        for folder in samples:
            baselines[folder] = measure_baseline(copy, [folder], [f"test/{folder}"], options.slow)
            preload(baselines[folder].modules)
        # Folders alternate, so that the results of an interrupted run are a sample, too.
        for mutant in filter(None, itertools.chain(*itertools.zip_longest(*samples.values()))):
            if mutant in journal:
                results.append(journal[mutant])
                continue
            if not can_apply(copy, mutant):
                print(f"omitted, cosmic-ray cannot apply it: {mutant}", file=sys.stderr)
                continue
            baseline = baselines[Path(mutant.module).parts[2]]
            results.append(run_mutant(copy, mutant, baseline, elsewhere, options.slow))
            print(f"{len(results)}: {results[-1]['verdict']} {mutant.module}", file=sys.stderr)
            if options.out:
                with options.out.open("a") as file:
                    file.write(json.dumps(results[-1]) + "\n")
    return 0 if report(results, totals) else 1


if __name__ == "__main__":
    raise SystemExit(main())
