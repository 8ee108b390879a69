"""Actors that a behavior tree moves, and the tree file as an input of a campaign."""

import numpy as np
import pytest
import yaml
from actor_scenes import person, place, run, simulated

from gz_testauto.base.errors import SpecError
from gz_testauto.base.resources import share_directory
from gz_testauto.cli.main import main
from gz_testauto.extras.trees.actor import TreeActor

TREE = """<root BTCPP_format="4"><BehaviorTree ID="main"><Fallback>
<Sequence><Inverter><IsNear trigger_distance_m="1.5"/></Inverter>
<GoTo x_m="-1" y_m="2" speed_mps="1"/>
<Sleep msec="500"/><GoTo x_m="-3" y_m="2" speed_mps="1"/></Sequence>
<Sequence><ChangeVisual diffuse="1 0 0"/><Stand/></Sequence></Fallback></BehaviorTree></root>"""


def positions(snapshots, name):
    return np.array([place(snapshot, name)[:2] for snapshot in snapshots])


def read(tmp_path, text):
    path = tmp_path / "walker.xml"
    path.write_text(text)
    return TreeActor.of_file("t", (), path)


def test_an_actor_moves_as_its_tree_defines(tmp_path):
    simulation = simulated(tmp_path, [person("t", -3.0, 2.0)], [read(tmp_path, TREE)])
    way = positions(run(simulation, 4.4), "t")
    assert way[19] == pytest.approx((-1.0, 2.0), abs=1e-3)
    assert way[20:24] == pytest.approx(np.tile((-1.0, 2.0), (4, 1)), abs=1e-3)
    assert way[-1] == pytest.approx((-3.0, 2.0), abs=2e-3)


def test_a_condition_changes_the_path(tmp_path):
    near = TREE.replace('trigger_distance_m="1.5"', 'trigger_distance_m="9"')
    simulation = simulated(tmp_path, [person("t", -3.0, 2.0)], [read(tmp_path, near)])
    last = run(simulation, 1.0)[-1]
    assert place(last, "t")[:2] == pytest.approx((-3.0, 2.0), abs=1e-6)
    assert simulation.describe().visuals["t::link::visual"].diffuse == (1.0, 0.0, 0.0, 1.0)


def test_an_invalid_leaf_is_rejected_with_its_line(tmp_path):
    wrong = TREE.replace('speed_mps="1"', 'speed_mps="0"')
    with pytest.raises(SpecError, match="xml:3: GoTo: speed_mps is 0; it must be > 0"):
        read(tmp_path, wrong)


@pytest.mark.slow
def test_campaign_with_a_changed_tree_file_cannot_be_continued(tmp_path, capsys):
    tree = tmp_path / "walker.xml"
    text = '<root><BehaviorTree ID="m"><Sleep msec="{}"/></BehaviorTree></root>'
    tree.write_text(text.format(500))
    thinker = {"name": "thinker", "behavior": "tree", "file": str(tree)}
    data = yaml.safe_load((share_directory() / "config" / "walkers_campaign.yaml").read_text())
    data["worlds"].update(
        count=1,
        base=str(share_directory() / "worlds" / "arena.world"),
        obstacles=str(share_directory() / "config" / "obstacles.yaml"),
    )
    actors = [{**thinker, "start": {"x_m": 0.0, "y_m": 12.0}}]
    data.update(simulator="embedded", actors=actors, randomize=[])
    file = tmp_path / "trees.yaml"
    file.write_text(yaml.safe_dump(data))
    command = ["run", str(file), "--out", str(tmp_path / "out")]
    assert main([*command, "--planners", "fgm"]) == 0
    tree.write_text(text.format(600))
    assert main(command) == 2
    assert "actors[0].file" in " ".join(capsys.readouterr().err.split())
