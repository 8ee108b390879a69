"""Worlds that campaigns have in common, and campaigns that cannot be paired."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from trials_from_letters import campaign as trials_of

from gz_testauto.analysis.across import pair_campaigns
from gz_testauto.base.errors import ResultsError
from gz_testauto.results.store import LoadedCampaign

MANIFEST = SimpleNamespace(
    inputs={},
    is_imported=False,
    simulator="embedded",
    gz_testauto="0.1.0",
    platform="Linux",
    bits_version=2,
)


def campaign(label, trials=3, hashes=("x", "y", "z")):
    """Return a campaign with trials in the first worlds, whose files have these hashes."""
    results = trials_of(fgm="R" * len(hashes))
    worlds = tuple(replace(world, sha256=sha256) for world, sha256 in zip(results.worlds, hashes))
    return LoadedCampaign(
        label, replace(results, worlds=worlds, trials=results.trials[:trials]), MANIFEST
    )


def names(across):
    return [world.name for world in across.results.worlds]


def test_worlds_without_a_finished_trial_are_ignored_on_request():
    campaigns = campaign("one"), campaign("other", trials=2)
    assert names(pair_campaigns(campaigns)) == ["w0", "w1", "w2"]
    across = pair_campaigns(campaigns, with_trials=True)
    assert names(across) == ["w0", "w1"]
    assert across.only == {"one": ("w2",), "other": ()}


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (campaign("other", trials=0), "no world has a finished trial in each of them"),
        (campaign("other", hashes=("u", "v")), "no two files have the same hash"),
        (campaign("other", hashes=("", "")), "the files of other are unknown: import those"),
    ],
    ids=["no trial", "other files", "unknown files"],
)
def test_campaigns_without_a_common_world_are_rejected_with_the_reason(other, reason):
    with pytest.raises(ResultsError, match=f"one, other: have no world in common: .*{reason}"):
        pair_campaigns([campaign("one"), other], with_trials=True)


def test_imported_campaigns_without_a_finished_trial_are_rejected_with_this_reason():
    unknown_files = ("", "", "")
    campaigns = campaign("one", 3, unknown_files), campaign("other", 0, unknown_files)
    with pytest.raises(ResultsError, match="no world has a finished trial in each of them"):
        pair_campaigns(campaigns, with_trials=True)


def test_one_campaign_without_a_finished_trial_is_accepted():
    assert names(pair_campaigns([campaign("one", trials=0)], with_trials=True)) == []


def test_two_campaigns_with_the_same_label_are_rejected():
    campaigns = campaign("one"), campaign("other"), campaign("one")
    with pytest.raises(ResultsError, match="one: the directory is specified twice"):
        pair_campaigns(campaigns)
