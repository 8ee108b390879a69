"""Policies in campaigns and gates, as planners."""

import json
import shutil

import pytest
from room import following, written

from gz_testauto.cli.main import main
from gz_testauto.extras.learning.policies.files import PolicyCard, write_policy
from gz_testauto.extras.learning.policies.policy import LinearPolicy

pytestmark = pytest.mark.slow

TERMS = [{"term": "lidar", "beams": 8}, {"term": "plan"}]


def results_of(folder, speed):
    """Return a campaign with a policy that follows the global plan, faster, slower or backwards."""
    folder.mkdir()
    card = PolicyCard(kind="linear", observations=TERMS)
    file = folder / "policy.npz"
    write_policy(file, LinearPolicy(following(card.terms, speed), 12), card)
    learned = {"name": "learned", "plugin": "policy", "parameters": {"file": str(file)}}
    changes = {"environment": None, "planners": [learned], "simulator": "embedded"}
    out = folder / "out"
    options = ["--out", str(out), "--workers", "1"]
    assert main(["run", str(written(folder, **changes)), *options]) == 0
    return out


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    return results_of(tmp_path_factory.mktemp("judged") / "before", 1.0)


def test_a_gate_compares_a_policy_with_the_previous_one(before, tmp_path, capsys):
    pytest.importorskip("gz_testauto.extras.gate")
    stands = results_of(tmp_path / "stands", -9.0)
    capsys.readouterr()
    main(["gate", str(stands), "--baseline", str(before)])
    said = capsys.readouterr()
    assert "the success rate of learned (new)" in said.out
    assert "learned (baseline)" in said.out and "4 worlds" in said.out
    assert "does not compare" not in said.err


def test_another_policy_for_the_second_robot_changes_the_trial_conditions(before, tmp_path, capsys):
    pytest.importorskip("gz_testauto.extras.gate")
    after = tmp_path / "after"
    shutil.copytree(str(before), str(after))
    manifest = json.loads((after / "manifest.json").read_text())
    manifest["inputs"]["planner of robot other/file.npz"] = "sha256:0"
    (after / "manifest.json").write_text(json.dumps(manifest))
    assert main(["gate", str(after), "--baseline", str(before)]) == 2
    assert "planner of robot other/file.npz: another file, and nothing" in capsys.readouterr().err
