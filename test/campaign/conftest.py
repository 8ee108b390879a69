"""A small real campaign, run by an executor that does what the test tells it."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from scripted import ScriptedExecutor

from gz_testauto.campaign.outcome import Outcome
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load

CONFIG = Path(__file__).resolve().parents[2] / "config"


@pytest.fixture(scope="session")
def smoke():
    return load(CONFIG / "smoke_campaign.yaml", CampaignSpec)


@pytest.fixture
def run(smoke, tmp_path):
    """Runs the small campaign with a scripted executor; returns both."""

    def start(script=lambda trial: Outcome.REACHED, spec=smoke, version="1", **options):
        executor = ScriptedExecutor(script, version)
        out = options.pop("out", tmp_path / "out")
        results = run_campaign(spec, out, lambda campaign: executor, **options)
        return SimpleNamespace(results=results, executor=executor, out=out)

    return start
