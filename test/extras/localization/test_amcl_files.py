"""The launch file and the parameters with which the real amcl localizes a simulated robot."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from gz_testauto.base.resources import share_directory
from gz_testauto.ros.simulator.interface import SimulatorParameters
from gz_testauto.spec.loader import parse
from gz_testauto.spec.localization import LocalizationSpec

FOLDER = share_directory() / "config" / "localization"


@pytest.fixture
def amcl():
    return yaml.safe_load((FOLDER / "amcl.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def launched():
    return ElementTree.parse(FOLDER / "amcl.launch").getroot()


def parameters_of(node):
    """Return the parameters of a node, with the defaults of arguments."""
    found = {one.get("name"): one.get("value") for one in node.iter("param")}
    for one in node.iter("rosparam"):
        if one.get("param"):
            found[one.get("param")] = one.text
    return found


def test_amcl_assumes_the_coefficients_of_the_simulated_odometry(amcl, launched):
    (simulator,) = (one for one in launched.iter("node") if one.get("pkg") == "gz_testauto")
    text = parameters_of(simulator)["localization"].replace("$(arg scale)", "1.0")
    spec = parse(text, LocalizationSpec, Path("amcl.launch"))
    assert not spec.is_true
    assert list(spec.odometry.alpha) == [amcl[f"odom_alpha{i}"] for i in (1, 2, 3, 4)]


def test_simulator_of_the_launch_file_leaves_the_map_frame_to_amcl(amcl, launched):
    (simulator,) = (one for one in launched.iter("node") if one.get("pkg") == "gz_testauto")
    found = parameters_of(simulator)
    assert set(found) <= set(SimulatorParameters.model_fields)
    assert found["map_to_odom"] == "false"
    frames = {
        name: SimulatorParameters.model_fields[name].default
        for name in ("base_frame", "odom_frame")
    }
    assert (amcl["base_frame_id"], amcl["odom_frame_id"]) == tuple(frames.values())


def test_launch_file_loads_the_parameters_of_amcl(launched):
    (amcl,) = (one for one in launched.iter("node") if one.get("pkg") == "amcl")
    (loaded,) = (one.get("file") for one in amcl.iter("rosparam"))
    assert loaded == "$(find gz_testauto)/config/localization/amcl.yaml"
    documented = [one.get("name") for one in launched.iter("arg") if one.get("doc")]
    assert len(documented) == len(list(launched.iter("arg")))
