"""Repeats of a trial have small changes, which depend only on the trial and their number."""

from dataclasses import replace

import pytest

from gz_testauto.analysis.repeats import RepeatCount
from gz_testauto.base.errors import SceneError, SpecError
from gz_testauto.campaign.trial_runner import TrialRunner
from gz_testauto.extras.search import perturbation
from gz_testauto.extras.search.perturbation import Perturbation
from gz_testauto.spec.campaign import StackCampaignSpec
from gz_testauto.trial.trial import Trial
from gz_testauto.worlds.source import Missions


@pytest.fixture
def spec(smoke):
    return smoke.model_copy(update={"simulator": "kinematic"})


@pytest.fixture
def trial(spec):
    with TrialRunner(spec) as runner:
        world = runner.worlds[0]
        mission = Missions(spec).of(world.name)
        yield Trial(world, mission, spec.planners[0], spec.random_numbers(0, 0))


def test_share_has_exact_interval_known_on_paper():
    count = RepeatCount(9, 10)
    assert count.share.high == pytest.approx(0.975**0.1)  # not all ten, in 97.5 %
    assert 10 * count.share.low**9 - 9 * count.share.low**10 == pytest.approx(0.025)
    text = count.text("repeats", "have it")
    assert text == "9 of 10 repeats have it (90 %, 95 % interval 55 to 100 %)"


def test_no_valid_repeat_has_no_share():
    assert RepeatCount(0, 0).text("repeats", "have it") == (
        "unknown, since none of the repeats is valid"
    )


@pytest.mark.slow
def test_repeats_are_the_same_for_the_same_trial(spec, trial):
    keys = []
    for _ in range(2):
        changed = Perturbation(spec)
        keys.append([changed.run(trial, number).key for number in range(3)])
        changed.close()
    assert keys[0] == keys[1] and len(set(keys[0])) == 3


def test_obstacles_and_start_move_by_millimeters(spec, trial, monkeypatch):
    seen = []

    def execute(self, changed):
        seen.append(changed)
        raise SceneError("the scene is invalid")

    monkeypatch.setattr(TrialRunner, "execute", execute)
    changed = Perturbation(spec)
    assert [changed.run(trial, number) for number in range(4)] == [None] * 4
    changed.close()
    assert len({one.world.sha256 for one in seen}) == 4
    start = trial.mission.start
    for one in seen:
        assert 0.0009 < one.mission.start.distance_to(start.x_m, start.y_m) < 0.0101
        assert replace(one.mission, start=start) == trial.mission
        assert (one.planner, one.numbers) == (trial.planner, trial.numbers)


def test_every_second_repeat_has_half_of_the_step(spec):
    embedded = spec.model_copy(update={"simulator": "embedded"})
    noisy, finer = perturbation._noisy(embedded)
    assert finer.simulator_options["step_s"] == pytest.approx(0.0025)
    assert not noisy.simulator_options
    assert [term.name for term in finer.randomize] == ["perturbation_noise"]


def test_perturbed_trials_on_a_stack_are_rejected():
    stack = StackCampaignSpec.model_construct(name="own")
    with pytest.raises(SpecError, match=r"own.*stack"):
        Perturbation(stack)
