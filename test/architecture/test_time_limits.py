"""Holds that no test can hang: every one has a time limit, and says then what it was doing."""

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
ROSTESTS = sorted(TESTS.rglob("*.test"))

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


def test_every_test_of_pytest_has_a_time_limit(request):
    assert float(request.config.getini("timeout")) > 0


@pytest.mark.parametrize("path", ROSTESTS, ids=lambda path: path.name)
def test_every_rostest_has_a_time_limit(path):
    for test in ElementTree.parse(path).getroot().iter("test"):
        assert float(test.get("time-limit", "nan")) > 0


@pytest.mark.slow
def test_a_test_that_hangs_fails_with_the_stacks_of_all_threads_and_the_next_one_runs(
    tmp_path, request
):
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
