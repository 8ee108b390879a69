"""A failure on a stack, which occurs in a share of its repeats, shrinks and has a stated rate."""

import json

import pytest
from scripted import CONFIG, ScriptedExecutor

from gz_testauto.base.errors import NavigatorError
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.cli.main import main
from gz_testauto.extras.search import stack_failure
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.outcome import Outcome

BOX = "obstacle_box_0"
FAILS, SUCCEEDS = Outcome.COLLIDED, Outcome.REACHED


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The results of a stack that collides in the first world of the example."""
    spec = load(CONFIG / "own_stack_campaign.yaml", CampaignSpec)
    spec = spec.model_copy(update={"worlds": spec.worlds.model_copy(update={"count": 1})})
    out = tmp_path_factory.mktemp("stack") / "results"
    run_campaign(spec, out, lambda campaign: ScriptedExecutor(lambda trial: FAILS))
    return out


@pytest.fixture
def stack(monkeypatch):
    """Make the trials of each campaign of a candidate end with the outcomes of a function of its
    world file; return the numbers of trials of these campaigns."""
    counts = []

    def end_with(outcomes_in):
        def start(bed):
            counts.append(0)

            def script(trial):
                of_world = outcomes_in(trial.world.path.read_text())
                counts[-1] += 1
                return of_world[trial.world.world_index]

            return ScriptedExecutor(script)

        monkeypatch.setattr(stack_failure, "chosen_executor", lambda spec, out: start)
        return counts

    return end_with


def shrink(results, out, *options):
    return main(["shrink", str(results), "0", "straight", "--out", str(out), "--trust", *options])


@pytest.mark.slow
def test_only_the_necessary_obstacle_is_left_with_the_rate_of_new_trials(
    results, stack, tmp_path, capsys
):
    often = [FAILS, SUCCEEDS, FAILS, FAILS, FAILS, SUCCEEDS, FAILS, FAILS, FAILS, FAILS]
    counts = stack(lambda world: often if BOX in world else 10 * [SUCCEEDS])
    assert shrink(results, tmp_path / "out") == 0
    found = json.loads((tmp_path / "out" / "shrunk.json").read_text())
    assert found["obstacles"] == [BOX]
    assert found["failure_rate"] == {"same": 8, "valid": 10}
    assert sum(counts) == found["simulations"] + 10
    assert set(counts[:-1]) == {2, 3}  # two successes decide, as do two failures of three trials
    assert "8 of 10 trials have the failure (80 %" in capsys.readouterr().out
    assert (tmp_path / "out" / "before_and_after.png").exists()
    assert not (tmp_path / "out" / "candidates").exists()
    spec = load(tmp_path / "out" / "campaign.yaml", CampaignSpec)
    assert len({one.name for one in spec.worlds.files}) == 10
    assert len({one.random_numbers for one in spec.worlds.files}) == 1


@pytest.mark.slow
def test_new_trials_and_their_invalid_attempts_are_reported(results, stack, tmp_path, capsys):
    stack(lambda world: [FAILS, FAILS, SUCCEEDS, NavigatorError("move_base died")])
    assert shrink(results, tmp_path / "out", "--perturb", "4") == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[lines.index("4 new trials in the small world") + 1 :] == [
        "trial 1 of 4: collided",
        "trial 2 of 4: collided",
        "trial 3 of 4: reached",
        *(f"attempt {number} is invalid: move_base died" for number in (1, 2, 3)),
        "trial 4 of 4: invalid",
    ]


@pytest.mark.slow
def test_failure_in_one_of_three_trials_does_not_repeat(results, stack, tmp_path, capsys):
    counts = stack(lambda world: [SUCCEEDS, FAILS, SUCCEEDS])
    assert shrink(results, tmp_path / "out") != 0
    assert counts == [3]
    assert "does not repeat: 3 new trials" in capsys.readouterr().err


@pytest.mark.slow
def test_interrupted_command_repeats_no_finished_trial(results, stack, tmp_path):
    def run(out, stop_after=1000):
        left = [stop_after]

        def outcomes(world):
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
            return 10 * [FAILS if BOX in world else SUCCEEDS]

        counts = stack(outcomes)
        del counts[:]
        try:
            return shrink(results, out, "--perturb", "4"), sum(counts)
        except KeyboardInterrupt:
            return 130, sum(counts)

    status, needed = run(tmp_path / "complete")
    assert status == 0
    ran = 0
    for stop_after in (1, 3, 4):
        status, count = run(tmp_path / "out", stop_after)
        assert status == 130
        ran += count
    status, count = run(tmp_path / "out")
    assert status == 0
    assert ran + count == needed
    for name in ("shrunk.json", "shrunk.world"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "complete" / name).read_bytes()


def test_another_simulator_is_rejected(results, tmp_path, capsys):
    assert shrink(results, tmp_path / "out", "--simulator-confirm", "gazebo") == 2
    assert "omit the simulator 'gazebo'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
