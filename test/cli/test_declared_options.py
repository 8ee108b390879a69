"""Arguments of a command that are declared from a class of options."""

import argparse
from typing import Optional

import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.cli.options import add_options, read_options
from gz_testauto.spec.options import Names, Options, option


class Example(Options):
    share: float = option(0.05, "SHARE", "share of trials", gt=0, lt=1)
    max_count: Optional[int] = option(None, "N", "number of worlds", ge=1)
    planners: Names = option((), "NAME", "run this planner")
    only: Optional[Names] = option(None, "W1,W2", "run these worlds")
    pass_: bool = option(False, "", "pass in any case")


def parser():
    made = argparse.ArgumentParser()
    add_options(made, Example)
    return made


def read(*words):
    return read_options(parser().parse_args(words), Example)


def test_options_have_their_defaults():
    assert read() == Example()


def test_values_have_the_types_of_the_fields():
    words = ["--share", "0.5", "--max-count", "3", "--planner", "a b", "--planner", "c", "--pass"]
    assert read(*words, "--only", "1, w2") == Example(
        share=0.5, max_count=3, planners=("a b", "c"), only=("1", "w2"), pass_=True
    )


def test_all_invalid_options_are_named_as_the_user_writes_them():
    with pytest.raises(SpecError) as raised:
        read("--share", "1", "--max-count", "0")
    assert str(raised.value).splitlines() == [
        "--share is 1.0; it must be < 1",
        "--max-count is 0; it must be >= 1",
    ]


def test_text_without_a_name_is_rejected(capsys):
    with pytest.raises(SystemExit):
        read("--only", " ,")
    assert "' ,' contains no name" in capsys.readouterr().err


def test_help_has_placeholder_default_and_repetition():
    text = " ".join(parser().format_help().split())
    assert "--share SHARE share of trials (default: 0.05)" in text
    assert "--max-count N number of worlds --planner NAME run this planner; repeatable" in text
