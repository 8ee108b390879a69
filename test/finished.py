"""Read the results of a campaign, for tests that ran one."""

from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore


def results(out):
    """The trials of a results directory, and what was recorded of each."""
    with ResultStore.read(CampaignDirectory(out)) as store:
        trials = store.results().trials
        return trials, [store.trajectory(record) for record in trials]
