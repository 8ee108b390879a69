"""The bag of a repeated trial has the topics of a real robot, with the estimated pose in tf."""

import pytest

from gz_testauto.extras.field.bag_file import BagFile

pytest.importorskip("rosbags")


def test_failed_trial_leaves_no_bag_and_keeps_an_older_one(tmp_path):
    file = tmp_path / "trial.bag"
    file.write_text("older")
    with pytest.raises(ZeroDivisionError), BagFile(file):
        raise ZeroDivisionError
    assert [path.name for path in tmp_path.iterdir()] == ["trial.bag"]
    assert file.read_text() == "older"
