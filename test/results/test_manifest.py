"""The identity of a campaign: what it is made of, so that results begun before can be continued."""

from pathlib import Path

import pytest

from gz_testauto.results.manifest import campaign_inputs
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load

CONFIG = Path(__file__).resolve().parents[2] / "config"


@pytest.mark.parametrize(
    ("campaign", "theirs"),
    [
        (
            "smoke",
            {
                "stack": "null",
                "planners[0].launch": "null",
                "planners[0].plugin": '"straight"',
                "planners[0].parameters": None,  # a mapping has an input for each of its keys
            },
        ),
        (
            "own_stack",
            {
                "stack.run": '"fresh"',
                "stack.robot": "null",
                "planners[0].plugin": '""',
                "planners[1].launch.args.plugin": '"fgm"',
            },
        ),
    ],
)
def test_a_kind_of_campaign_says_of_the_others_fields_that_it_has_none(campaign, theirs):
    inputs = campaign_inputs(load(CONFIG / f"{campaign}_campaign.yaml", CampaignSpec))
    assert {name: inputs.get(name) for name in theirs} == theirs
    assert inputs["simulator"] == '"auto"'
