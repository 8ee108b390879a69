import logging
import pickle

import pytest

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.truncation import MAX_LENGTH, join_truncated, log_untruncated, truncate
from gz_testauto.cli.main import main

NAMES = [f"obstacle_box_{i}" for i in range(800)]
LONG = f"the sky is missing, seen from {', '.join(NAMES)}; bring a ladder"


def test_a_short_message_is_shown_as_it_is():
    assert truncate("the sky is missing") == "the sky is missing"


def test_a_long_message_keeps_its_cause_and_its_end():
    shown = truncate(LONG)
    assert len(shown) <= MAX_LENGTH
    assert shown.startswith("the sky is missing, seen from obstacle_box_0,")
    assert shown.endswith("; bring a ladder")


def test_a_long_word_is_cut_as_well():
    assert len(truncate("x" * 10_000)) <= MAX_LENGTH


def test_of_several_lines_each_is_told():
    shown = truncate(f"{LONG}\nand a second one\n{LONG}").splitlines()
    assert len(shown) == 3
    assert shown[1] == "and a second one"
    assert max(map(len, shown)) <= MAX_LENGTH


def test_an_error_is_read_in_brief_and_kept_in_full_also_in_another_process():
    error = pickle.loads(pickle.dumps(SimulatorError(LONG)))
    assert str(error) == truncate(LONG)
    assert error.full == LONG
    assert isinstance(error, SimulatorError)


@pytest.mark.parametrize(
    ("names", "said"),
    [([], ""), (["a", "b"], "a, b"), (list("abcdefg"), "a, b, c, d, e and 2 more")],
)
def test_names_are_listed_up_to_a_few(names, said):
    assert join_truncated(names) == said


def test_only_what_is_not_shown_whole_is_logged(caplog):
    with caplog.at_level(logging.INFO):
        log_untruncated("short")
        log_untruncated(LONG)
    assert [record.getMessage() for record in caplog.records] == [f"a message in full: {LONG}"]


def test_the_command_line_shows_what_can_be_read_and_keeps_the_rest(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def fails(*arguments):
        raise SimulatorError(LONG)

    monkeypatch.setattr("gz_testauto.cli.main._run_verb", fails)
    assert main(["run"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"gz_testauto: {truncate(LONG)}"
    (kept,) = tmp_path.iterdir()
    assert second == f"gz_testauto: in full: {kept}"
    assert kept.read_text() == LONG + "\n"
