"""Results that were written before recordings had heights and campaigns a limit for leaning."""

import json

import numpy as np
import pytest

from gz_testauto.analysis.repeatability import compare_recordings
from gz_testauto.base.errors import ResultsError
from gz_testauto.campaign.resume import reopen
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
from gz_testauto.testing.planar import PlanarSimulator
from gz_testauto.trial.lockstep import LockstepExecutor
from gz_testauto.trial.plan import Selection

ADDED_FIELD = ("limits", "max_tilt_rad")
ADDED_ARRAYS = {"z_m", "roll_pitch_rad"}


def planar(campaign):
    return LockstepExecutor(campaign, lambda _: PlanarSimulator())


def rewrite(path, change):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


@pytest.fixture
def before(smoke, tmp_path):
    """A directory as the version before wrote it."""
    run_campaign(smoke, tmp_path, planar, selection=Selection(worlds=1))
    section, name = ADDED_FIELD
    rewrite(tmp_path / "campaign.json", lambda content: content[section].pop(name))
    dotted = ".".join(ADDED_FIELD)
    rewrite(tmp_path / "manifest.json", lambda content: content["inputs"].pop(dotted))
    for path in (tmp_path / "trajectories").iterdir():
        with np.load(path) as data:
            assert set(data.files) > ADDED_ARRAYS
            kept = {name: data[name] for name in data.files if name not in ADDED_ARRAYS}
        np.savez(path, **kept)
    return tmp_path


def test_they_are_read_and_repeat_to_the_bit(before):
    directory = CampaignDirectory(before)
    with ResultStore.read(directory) as store:
        campaign = reopen(directory, store)
        records = store.results().trials
        recordings = [store.trajectory(record) for record in records]
    assert [recording.z_m for recording in recordings] == [None, None]
    executor = planar(campaign)
    executor.open()
    for record, recording in zip(records, recordings):
        again = executor.execute(campaign.trials[record.trial], lambda: False)
        assert again.outcome is record.outcome
        assert compare_recordings(recording, again.recording).identical
    executor.close()


def test_they_are_not_gone_on_with_by_other_rules(before, smoke):
    with pytest.raises(ResultsError, match=r"limits\.max_tilt_rad: nothing there, 0\.8 now"):
        run_campaign(smoke, before, planar)
