import logging
import os
import pickle

import pytest

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.truncation import MAX_LENGTH, join_truncated, log_untruncated, truncate
from gz_testauto.cli.main import main

NAMES = [f"obstacle_box_{i}" for i in range(800)]
LONG = f"the sky is missing, seen from {', '.join(NAMES)}; bring a ladder"


def test_short_message_is_unchanged():
    assert truncate("the sky is missing") == "the sky is missing"


def test_long_message_keeps_its_start_and_end():
    shown = truncate(LONG)
    assert len(shown) <= MAX_LENGTH
    assert shown.startswith("the sky is missing, seen from obstacle_box_0,")
    assert shown.endswith("; bring a ladder")


def test_message_of_one_long_word_is_truncated():
    assert len(truncate("x" * 10_000)) <= MAX_LENGTH


def test_each_line_of_a_message_is_truncated():
    shown = truncate(f"{LONG}\nand a second one\n{LONG}").splitlines()
    assert len(shown) == 3
    assert shown[1] == "and a second one"
    assert max(map(len, shown)) <= MAX_LENGTH


def test_pickled_error_keeps_its_full_message():
    error = pickle.loads(pickle.dumps(SimulatorError(LONG)))
    assert str(error) == truncate(LONG)
    assert error.full == LONG
    assert isinstance(error, SimulatorError)


@pytest.mark.parametrize(
    ("names", "expected"),
    [([], ""), (["a", "b"], "a, b"), (list("abcdefg"), "a, b, c, d, e and 2 more")],
)
def test_long_list_of_names_is_truncated_with_the_number_of_others(names, expected):
    assert join_truncated(names) == expected


def test_only_truncated_messages_are_logged(caplog):
    with caplog.at_level(logging.INFO):
        log_untruncated("short")
        log_untruncated(LONG)
    assert [record.getMessage() for record in caplog.records] == [f"full message: {LONG}"]


def test_command_line_prints_the_truncated_message_and_saves_the_full_one(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def fails(*arguments):
        raise SimulatorError(LONG)

    monkeypatch.setattr("gz_testauto.cli.main._run_verb", fails)
    yesterday = tmp_path / "gz_testauto_message_old.txt"
    yesterday.write_text("")
    os.utime(yesterday, (yesterday.stat().st_mtime - 90_000.0,) * 2)
    assert main(["run"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"gz_testauto: {truncate(LONG)}"
    (kept,) = tmp_path.iterdir()
    assert second == f"gz_testauto: in full: {kept}"
    assert kept.read_text() == LONG + "\n"
