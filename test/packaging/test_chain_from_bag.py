"""The chain of docs/field.md: from the bag of a failed drive to a gate in which a planner fails."""

from pathlib import Path

import pytest

from gz_testauto.cli.main import main
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore

for module in ("extras.field", "extras.search", "extras.gate"):
    pytest.importorskip(f"gz_testauto.{module}")
pytest.importorskip("rosbags")
pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).resolve().parents[2]


def trials(directory):
    with ResultStore.read(CampaignDirectory(directory)) as store:
        return {record.planner: record.outcome.value for record in store.results().trials}


def test_failure_of_a_bag_is_repeated_shrunk_and_fails_the_gate(tmp_path, capsys):
    drives, field = tmp_path / "drives", tmp_path / "field"
    one_worker = ("--workers", "1")
    arena = tmp_path / "arena.yaml"
    text = (CHECKOUT / "config" / "tune" / "arena.yaml").read_text()
    text = text.replace("../..", str(CHECKOUT)).replace("../", f"{CHECKOUT}/config/")
    arena.write_text(text + "localization: {estimate: corrected}\n")
    options = ("--simulator", "embedded", "--only", "world_0012", *one_worker)
    main(["run", str(arena), "--out", str(drives), *options])
    assert trials(drives) == {"fgm_improved": "reached", "dwa_fox": "stuck"}

    bag = tmp_path / "drive.bag"
    assert main(["replay", str(drives), "world_0012", "dwa_fox", "--bag", str(bag)]) == 0
    robot = str(CHECKOUT / "models" / "wheelchair")
    assert main(["world-from-bag", str(bag), "--robot", robot, "--out", str(field)]) == 0
    campaign = field / "campaign.yaml"
    text = campaign.read_text()
    line = next(line for line in text.splitlines() if line.startswith("planners:"))
    campaign.write_text(text.replace(line, "planners: [fgm_improved, dwa_fox]"))

    again = tmp_path / "again"
    capsys.readouterr()
    options = ("--simulator", "embedded", *one_worker)
    assert main(["run", str(campaign), "--out", str(again), *options]) == 0
    assert trials(again) == {"fgm_improved": "reached", "dwa_fox": "stuck"}
    rows = [
        line.split()[-6:] for line in capsys.readouterr().out.splitlines() if "aborted at" in line
    ]
    assert [row[:4] for row in rows] == [
        ["fgm_improved", "0", "of", "1"],
        ["dwa_fox", "1", "of", "1"],
    ]

    corpus = tmp_path / "corpus"
    shrunk = str(corpus / "drive")
    assert main(["shrink", str(again), "drive", "dwa_fox", "--out", shrunk]) == 0
    (field / "localization_errors.csv").unlink()  # the corpus has its copy
    assert main(["gate", str(again), "--corpus", str(corpus), "--planner", "dwa_fox"]) == 1
    assert main(["gate", str(again), "--corpus", str(corpus), "--planner", "fgm_improved"]) == 0
