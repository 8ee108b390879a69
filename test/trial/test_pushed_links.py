"""Pushes on the robot of a stack, whose links are unknown before the trial."""

from types import SimpleNamespace

import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.scene import placed_model
from gz_testauto.spec.effects import PushEffect
from gz_testauto.spec.randomize import PoseTerm, PushTerm
from gz_testauto.trial.actors import links_sdf, pushed_links


def spec(*patterns, effects=()):
    terms = [
        PushTerm(name=f"gust_{number}", term="push", select={"names": names}, set=20)
        for number, names in enumerate(patterns)
    ]
    shift = PoseTerm(name="shift", term="pose", select={"names": "husky::.*"}, add=0.1)
    return SimpleNamespace(randomize=(*terms, shift), effects=effects)


def test_complete_names_of_links_are_accepted_once():
    names = ("husky::base_link", "husky::base_link", "husky::left/wheel-1", "box_.*::link")
    assert pushed_links(spec(*names), "husky") == ("husky::base_link", "husky::left/wheel-1")


@pytest.mark.parametrize("names", ["husky::.*", "(husky::base|husky::wheel)", "husky::base_[lr]"])
def test_expression_for_links_of_the_robot_is_rejected_with_an_example(names):
    with pytest.raises(SpecError, match=r"gust_0.*husky::base_link") as caught:
        pushed_links(spec(names), "husky")
    assert names in str(caught.value)


def bump(target, link):
    return PushEffect(
        name="bump", effect="push", target=target, link=link, force_n=(0.0, 60.0, 0.0)
    )


@pytest.mark.parametrize("target", ["robot", "husky"])
def test_effect_pushes_the_named_link_of_the_robot(target):
    effects = (bump(target, "base_link"), bump("porter", "head"))
    assert pushed_links(spec(effects=effects), "husky") == ("husky::base_link",)


def test_effect_without_the_link_of_the_robot_is_rejected():
    with pytest.raises(SpecError, match=r"bump.*'link'.*base_link"):
        pushed_links(spec(effects=(bump("robot", None),)), "husky")


def test_described_robot_has_the_named_links():
    sdf = links_sdf("husky", ("husky::base_link", "husky::wheel"))
    found = placed_model(sdf, "husky", Pose()).element
    assert [link.get("name") for link in found.iter("link")] == ["base_link", "wheel"]
