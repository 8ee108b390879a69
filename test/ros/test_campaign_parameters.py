"""The parameters from which the nodes read the campaign."""

import pytest

pytest.importorskip("rospy")

from gz_testauto.base import resources
from gz_testauto.base.errors import SpecError
from gz_testauto.ros import campaign_parameters

CONFIG = resources.share_directory() / "config"


@pytest.mark.parametrize(
    ("campaign", "on_stack", "remedy"),
    [
        ("own_stack_campaign.yaml", False, "add stack:=true"),
        ("smoke_campaign.yaml", True, "leave stack:=true out"),
    ],
)
def test_a_campaign_of_the_other_kind_is_refused_with_the_remedy(
    monkeypatch, campaign, on_stack, remedy
):
    parameters = campaign_parameters.parameters
    monkeypatch.setattr(parameters, "read_path", lambda name: CONFIG / campaign)
    with pytest.raises(SpecError, match=remedy):
        campaign_parameters.read_campaign(on_stack)
