"""A simulator that runs already cannot be used by several workers of a cluster."""

from types import SimpleNamespace

import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.base.resources import share_directory
from gz_testauto.extras.dask.workers import DaskWorkers
from gz_testauto.simulators import SIMULATORS
from gz_testauto.simulators.kinematic.simulator import KinematicSimulator
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load


def test_a_shared_simulator_is_refused_with_the_option_to_use(monkeypatch):
    monkeypatch.setattr(KinematicSimulator, "shared", True)
    monkeypatch.setattr(SIMULATORS, "get", lambda name: KinematicSimulator)
    monkeypatch.setattr(SIMULATORS, "names", lambda: ["theirs"])
    spec = load(share_directory() / "config" / "smoke_campaign.yaml", CampaignSpec)
    campaign = SimpleNamespace(spec=spec.model_copy(update={"simulator": "theirs"}))
    with pytest.raises(SpecError, match=r"'theirs' is already running.*--workers 1"):
        DaskWorkers(lambda campaign: None, campaign, size=2)
