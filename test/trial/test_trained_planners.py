"""A planner is not evaluated in a world in which it was trained."""

import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.planners.interface import Provenance
from gz_testauto.spec.actors import TrackingSpec
from gz_testauto.trial import checks
from gz_testauto.trial.checks import check_trials
from gz_testauto.trial.plan import PreparedCampaign
from gz_testauto.trial.testbed import bed_of, read_body
from gz_testauto.worlds.record import WorldRecord


@pytest.fixture
def campaign(smoke, tmp_path, monkeypatch):
    """Planners a, b and c in worlds w0 and w1, of which b was trained in w1 or in none."""
    planners = tuple(smoke.planners[0].model_copy(update={"name": name}) for name in "abc")
    planners = (planners[0], planners[1].model_copy(update={"plugin": "fgm"}), planners[2])
    spec = smoke.model_copy(update={"planners": planners})
    records = []
    for index in (0, 1):
        path = tmp_path / f"w{index}.world"
        path.write_text('<sdf version="1.6"><world name="w"/></sdf>')
        records.append(WorldRecord(index, f"w{index}", path, f"sha{index}"))
    trained: dict = {"fgm": frozenset({"sha1", "sha7"})}
    needing: set = set()
    monkeypatch.setattr(
        checks,
        "planner_origin",
        lambda plugin, **_: Provenance(
            trained_in=trained.get(plugin, frozenset()), needs_objects=plugin in needing
        ),
    )
    return PreparedCampaign(bed_of(spec, read_body(spec)), tuple(records)), trained, needing


def test_only_trials_of_a_trained_planner_in_its_training_worlds_are_rejected(campaign):
    prepared, trained, _ = campaign
    for trial in prepared.trials:
        if (trial.planner.name, trial.world.name) == ("b", "w1"):
            with pytest.raises(SpecError, match=r"w1.*'b'"):
                check_trials(prepared.bed, [trial])
        else:
            check_trials(prepared.bed, [trial])
    with pytest.raises(SpecError):
        check_trials(prepared.bed, prepared.trials)
    trained.clear()
    check_trials(prepared.bed, prepared.trials)


def test_planner_trained_with_tracked_objects_needs_tracking(campaign):
    prepared, trained, needing = campaign
    trained.clear()
    needing.add("fgm")
    with pytest.raises(SpecError, match=r"'b' .* 'tracking'"):
        check_trials(prepared.bed, prepared.trials)
    prepared.bed.spec = prepared.spec.model_copy(update={"tracking": TrackingSpec()})
    check_trials(prepared.bed, prepared.trials)
