import shutil
import threading
import urllib.error
import urllib.request

import pytest
from page_results import results
from scripted import record

from gz_testauto.base.errors import ResultsError
from gz_testauto.report.page.server import PageServer
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.opened import OpenedResults
from gz_testauto.results.store import ResultStore
from gz_testauto.trial.outcome import Outcome

LIMIT_S = 30


@pytest.fixture
def served(tmp_path):
    out = results(tmp_path / "out")
    with PageServer(OpenedResults(out), 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server, out
        server.shutdown()
        thread.join(LIMIT_S)


def asked(server, path="", **headers):
    method = headers.pop("method", "GET")
    request = urllib.request.Request(server.url + path, headers=headers, method=method)
    with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
        return answer.read().decode()


def test_a_served_page_contains_trials_that_ended_since(served):
    server, out = served
    before, version = asked(server), asked(server, "version")
    assert (
        "4 valid trials of 4 planned" in before and "No process runs this campaign now." in before
    )
    assert "connect-src &#39;self&#39;" in before or "connect-src 'self'" in before
    last = record(4, world="world_0000", world_index=0, repetition=1, outcome=Outcome.STUCK)
    with ResultStore.open(CampaignDirectory(out)) as store:
        store.finish(last)
    assert asked(server, "version") != version
    assert "5 valid trials of 4 planned" in asked(server)


@pytest.mark.parametrize("path", ["results.sqlite", "../out/manifest.json", "x"])
def test_only_the_page_and_its_version_are_served(served, path):
    with pytest.raises(urllib.error.HTTPError, match="404"):
        asked(served[0], path)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_requests_cannot_change_results(served, method):
    with pytest.raises(urllib.error.HTTPError, match="501"):
        asked(served[0], method=method)


def test_a_request_with_another_host_name_is_rejected(served):
    with pytest.raises(urllib.error.HTTPError, match="403"):
        asked(served[0], Host="elsewhere.example")


def test_the_server_listens_only_on_loopback(served):
    assert served[0].server_address[0] == "127.0.0.1"


def test_page_without_a_trial_reports_it(served):
    server, out = served
    (out / "results.sqlite").unlink()
    shutil.rmtree(out / "trajectories")
    assert "no trial has ended yet" in asked(server)


def test_a_directory_without_a_campaign_is_rejected(tmp_path):
    with pytest.raises(ResultsError, match="no campaign"):
        PageServer(OpenedResults(tmp_path), 0)


def test_a_disconnected_browser_causes_no_error(served, capsys):
    server, _ = served
    try:
        raise BrokenPipeError
    except BrokenPipeError:
        server.handle_error(None, None)
    assert capsys.readouterr().err == ""
