"""The robustness of an outcome is the share of slightly changed trials with this outcome."""

import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.campaign import robustness
from gz_testauto.campaign.robustness import PerturbedTrial, Robustness, measure_robustness
from gz_testauto.campaign.trial_runner import TrialRunner, TrialSeed
from gz_testauto.spec.campaign import StackCampaignSpec
from gz_testauto.trial.outcome import Outcome
from gz_testauto.worlds.edited import EditedWorld


@pytest.fixture
def spec(smoke):
    return smoke.model_copy(update={"simulator": "kinematic"})


@pytest.fixture
def perturbed(spec):
    with TrialRunner(spec) as runner:
        world = EditedWorld(runner.worlds[0].path)
    start, goal = Pose2D(-3.0, 0.0, 0.0), Pose2D(3.0, 0.0, 0.0)
    return PerturbedTrial(world, "straight", TrialSeed(1), start, (goal,))


def test_share_has_exact_interval_known_on_paper():
    found = Robustness(Outcome.STUCK, (Outcome.STUCK,) * 9 + (Outcome.REACHED, None))
    assert (found.same, found.valid) == (9, 10)
    assert found.share.high == pytest.approx(0.975**0.1)  # not all ten, in 97.5 %
    assert 10 * found.share.low**9 - 9 * found.share.low**10 == pytest.approx(0.025)
    assert "9 of 10" in found.summary and "55 to 100 %" in found.summary


def test_no_valid_scene_has_no_share():
    found = Robustness(Outcome.STUCK, (None, None))
    assert found.valid == 0 and "none of 2" in found.summary


@pytest.mark.slow
def test_repeats_are_the_same_for_the_same_trial(spec, perturbed):
    outcomes = [measure_robustness(spec, perturbed, Outcome.REACHED, 3).outcomes for _ in range(2)]
    assert outcomes[0] == outcomes[1] and len(outcomes[0]) == 3


def test_obstacles_and_start_move_by_millimeters(spec, perturbed, monkeypatch):
    seen = []

    def run(self, content, planner, **inputs):
        seen.append((content, inputs["start"]))
        raise SpecError("the scene is invalid")

    monkeypatch.setattr(TrialRunner, "run", run)
    found = measure_robustness(spec, perturbed, Outcome.REACHED, 4)
    assert found.outcomes == (None,) * 4
    assert len({content for content, _ in seen}) == 4
    for _, start in seen:
        assert 0.0009 < start.distance_to(-3.0, 0.0) < 0.0101


def test_every_second_repeat_has_half_of_the_step(spec):
    embedded = spec.model_copy(update={"simulator": "embedded"})
    noisy, finer = robustness._noisy(embedded)
    assert finer.simulator_options["step_s"] == pytest.approx(0.0025)
    assert not noisy.simulator_options
    assert [term.name for term in finer.randomize] == ["perturbation_noise"]


def test_invalid_number_of_repeats_is_rejected(spec, perturbed):
    with pytest.raises(SpecError, match="0; it must be at least 1"):
        measure_robustness(spec, perturbed, Outcome.REACHED, 0)


def test_perturbed_trials_on_a_stack_are_rejected(perturbed):
    stack = StackCampaignSpec.model_construct(name="own")
    with pytest.raises(SpecError, match=r"own.*stack"):
        measure_robustness(stack, perturbed, Outcome.REACHED, 1)
