"""Check that no test can hang: tests and the waits in them have time limits."""

import ast
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from source_trees import walk

TESTS = Path(__file__).resolve().parents[1]
ROSTESTS = sorted(TESTS.rglob("*.test"))
WAITS = ("wait", "join", "get")
"""Methods that wait indefinitely when they are called without an argument."""

CAN_WAIT = re.compile(rf"\.({'|'.join(WAITS)})\s*\(\s*\)|\.(communicate|recv)\s*\(")
"""Only a text that matches is parsed."""

LIMITS = ("settimeout", "poll")
"""Methods that limit a later `recv` of the same socket or pipe."""

HANGS = """
import threading

def nobody_calls(event):
    event.wait()

def test_hangs():
    event = threading.Event()
    threading.Thread(target=nobody_calls, args=(event,), daemon=True).start()
    event.wait()

def test_the_next_one():
    pass
"""


def calls(tree):
    nodes = (node for node in walk(tree) if isinstance(node, ast.Call))
    return [node for node in nodes if isinstance(node.func, ast.Attribute)]


def name_of(node):
    """Return the last name of an expression: `peer` of `self.peer`."""
    return getattr(node, "attr", getattr(node, "id", None))


def keywords(call):
    return {keyword.arg for keyword in call.keywords}


def limited(tree):
    """Return the names of the sockets and pipes that a module limits."""
    withs = (node for node in walk(tree) if isinstance(node, ast.withitem))
    connected = {
        name_of(node.optional_vars)
        for node in withs
        if isinstance(node.context_expr, ast.Call) and "timeout" in keywords(node.context_expr)
    }
    set_later = (each for each in calls(tree) if each.func.attr in LIMITS and each.args)
    return connected.union(name_of(each.func.value) for each in set_later)


def waits_without_limit(text):
    """Return the lines of the calls in a module that can wait indefinitely."""
    if not CAN_WAIT.search(text):
        return []
    tree = ast.parse(text)
    return [
        each.lineno
        for each in calls(tree)
        if (each.func.attr in WAITS and not each.args and not each.keywords)
        or (each.func.attr == "communicate" and not keywords(each) & {"timeout"})
        or (each.func.attr == "recv" and name_of(each.func.value) not in limited(tree))
    ]


def test_no_call_in_a_test_waits_without_a_limit():
    modules = {path.relative_to(TESTS): path.read_text() for path in TESTS.rglob("*.py")}
    found = {str(path): waits_without_limit(text) for path, text in modules.items()}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("process.wait()", [1]),
        ("process.wait(60)", []),
        ("a.thread.join()", [1]),
        ("thread.join(timeout=1)", []),
        ("', '.join(names)", []),
        ("process.communicate('text')", [1]),
        ("process.communicate('text', timeout=1)", []),
        ("queue.get()", [1]),
        ("names.get('a')", []),
        ("pipe.recv()", [1]),
        ("if pipe.poll(60):\n    pipe.recv()", []),
        ("if pipe.poll():\n    other.recv()", [2]),
        ("peer.settimeout(60)\nself.peer.recv(8)", []),
        ("with connect(at, timeout=1) as peer:\n    peer.recv(8)", []),
        ("with connect(at) as peer:\n    peer.recv(8)", [2]),
    ],
)
def test_check_detects_a_call_that_can_wait_indefinitely(code, lines):
    assert waits_without_limit(code) == lines


def test_every_test_of_pytest_has_a_time_limit(request):
    assert float(request.config.getini("timeout")) > 0


@pytest.mark.parametrize("path", ROSTESTS, ids=lambda path: path.name)
def test_every_rostest_has_a_time_limit(path):
    for test in ElementTree.parse(path).getroot().iter("test"):
        assert float(test.get("time-limit", "nan")) > 0


@pytest.mark.slow
def test_hanging_test_fails_with_the_stacks_of_all_threads(tmp_path, request):
    (tmp_path / "test_file.py").write_text(HANGS)
    ini = Path(request.config.inipath)
    command = [sys.executable, "-m", "pytest", "-c", str(ini), "--rootdir", str(tmp_path)]
    run = subprocess.run(
        [*command, "-p", "no:cacheprovider", "-o", "timeout=2", "test_file.py"],
        cwd=tmp_path,
        text=True,
        timeout=120,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert "1 failed, 1 passed" in run.stdout
    assert "nobody_calls" in run.stdout
