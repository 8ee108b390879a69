"""Randomization terms: their draws, the elements that they select, their changes, and faults."""

import math
import re
from pathlib import Path
from typing import List

import numpy as np
import pytest

from gz_testauto.actors.hook import StepContext
from gz_testauto.base.errors import SpecError
from gz_testauto.base.observation import LaserScan, Snapshot, Twist2D
from gz_testauto.base.pose import Pose
from gz_testauto.base.resources import share_directory
from gz_testauto.randomization.terms import RandomizedScene, draw_terms, kinds_of
from gz_testauto.sampling.seeds import TERM, child_generator
from gz_testauto.sdf.appearance import Appearance, Light
from gz_testauto.sdf.dynamics import Inertial
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators.changes import Push, SetFriction, SetMass
from gz_testauto.simulators.description import (
    CollisionDescription,
    Description,
    LinkDescription,
)
from gz_testauto.spec.loader import parse
from gz_testauto.spec.model import Spec
from gz_testauto.spec.randomize import Term

BODY = Inertial(10.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
WORLD = Description(
    (0.0, 0.0, -9.8),
    links={
        "floor::l": LinkDescription(Pose(), None),
        "a::l": LinkDescription(Pose(), BODY),
        "b::l": LinkDescription(Pose(), BODY),
    },
    collisions={f"{name}::l::c": CollisionDescription(0.5, 0.5) for name in ("floor", "a", "b")},
    visuals={"a::l::v": Appearance()},
    lights={"sun": Light(diffuse=(0.8, 0.6, 0.4, 1.0))},
)
SCENE = RandomizedScene(WORLD, {"a": Pose((1.0, 2.0, 0.0)), "b": Pose()}, None)


class Terms(Spec):
    terms: List[Term]


def terms(*lines):
    text = "terms:\n" + "\n".join(f"  - {line}" for line in lines)
    return parse(text, Terms, Path("terms.yaml")).terms


def draw(*lines, world=0, repetition=0, scene=SCENE, seed=3):
    return draw_terms(terms(*lines), seed, world, repetition, scene)


def changes(drawn, time_s=0.0):
    context = StepContext(Snapshot(time_s, {}, {}), 0.1, lambda: WORLD)
    for hook in drawn.hooks:
        hook.before_step(context)
    return context.changes


FRICTION = '{name: grip, term: friction, select: {names: ".*::l::c"}, set: [0.2, 0.9]}'
MASS = '{name: load, term: mass, select: {names: "a::l"}, scale: [0.5, 2.0]}'


def test_each_selected_element_has_a_separate_value():
    found = changes(draw(FRICTION))
    assert [change.name for change in found] == ["floor::l::c", "a::l::c", "b::l::c"]
    values = [change.mu for change in found]
    assert len(set(values)) == 3
    assert all(0.2 <= value <= 0.9 for value in values)


def test_shared_elements_have_one_value():
    drawn = draw(FRICTION.replace("set:", "shared: true, set:"))
    values = {change.mu for change in changes(drawn)}
    assert len(values) == 1
    assert drawn.numbers == {"drawn_grip": pytest.approx(values.pop())}


def test_specified_number_of_elements_is_drawn_from_all_matches():
    some = FRICTION.replace('".*::l::c"', '".*::l::c", number: 2')
    chosen = {tuple(c.name for c in changes(draw(some, world=world))) for world in range(20)}
    assert {len(names) for names in chosen} == {2}
    assert len(chosen) == 3


def test_a_further_term_does_not_change_the_values_of_others():
    alone = changes(draw(MASS))
    both = changes(draw(FRICTION, MASS))
    assert [c for c in both if isinstance(c, SetMass)] == alone


def test_a_term_is_drawn_per_trial_or_once_for_all_repetitions_in_a_world():
    def mass(when, world, repetition):
        line = MASS.replace("scale:", f"when: {when}, scale:")
        (change,) = changes(draw(line, world=world, repetition=repetition))
        return change.mass_kg

    assert mass("trial", 0, 0) == mass("trial", 0, 0)
    assert len({mass("trial", w, r) for w in range(3) for r in range(3)}) == 9
    assert len({mass("world", w, r) for w in range(3) for r in range(3)}) == 3


def test_values_are_set_added_or_scaled():
    for kind, low, high in (
        ("set: [1, 2]", 1, 2),
        ("add: [1, 2]", 11, 12),
        ("scale: [2, 3]", 20, 30),
    ):
        (change,) = changes(draw(MASS.replace("scale: [0.5, 2.0]", kind)))
        assert low <= change.mass_kg <= high


def test_gravity_colors_and_lights_are_changed():
    gravity, color, light = changes(
        draw(
            "{name: g, term: gravity, scale: 0.5}",
            '{name: c, term: color, select: {names: "a::.*"}, set: [0, 1]}',
            '{name: l, term: light, select: {names: "sun"}, scale: 0.5}',
        )
    )
    assert gravity.mps2 == (0.0, 0.0, -4.9)
    assert len(set(color.diffuse[:3])) == 3
    assert color.ambient == color.diffuse
    assert light.diffuse == pytest.approx((0.4, 0.3, 0.2, 1.0))


def test_pushes_have_random_intervals_and_directions():
    line = '{name: gust, term: push, select: {names: "a::l"}, set: 30, when: {every_s: [1, 2]}}'
    drawn = draw(line)
    times, angles = [], []
    for tick in range(1000):
        for change in changes(drawn, tick * 0.1):
            assert isinstance(change, Push)
            assert math.hypot(*change.force_n) == pytest.approx(30.0)
            times.append(tick * 0.1)
            angles.append(math.atan2(change.force_n[1], change.force_n[0]))
    gaps = np.diff([0.0, *times])
    assert gaps.min() > 0.85
    assert gaps.max() < 2.15
    assert 60 <= len(times) <= 72
    assert {int(angle // (math.pi / 2)) for angle in angles} == {-2, -1, 0, 1}


def test_a_repeated_term_stores_its_values_with_their_times():
    line = "{name: gust, term: push, select: {names: 'a::l'}, set: [5, 50], when: {every_s: 1.2}}"
    drawn = draw(line)
    (hook,) = drawn.hooks
    assert (hook.results().numbers, hook.results().series) == ({}, {})
    found = [(0.5 * tick, c) for tick in range(6) for c in changes(drawn, 0.5 * tick)]
    forces = [math.hypot(*change.force_n) for _, change in found]
    assert len(set(forces)) == 2
    stored = hook.results()
    assert stored.series["drawn_gust"] == pytest.approx(np.column_stack([[1.5, 2.5], forces]))
    assert stored.numbers == pytest.approx({"drawn_gust": np.mean(forces)})


def test_a_pose_term_displaces_the_pose_of_the_model():
    line = '{name: shove, term: pose, select: {names: "a"}, add: [0.5, 0.6], yaw_rad: 0.3}'
    (change,) = changes(draw(line))
    x, y, _ = change.pose.position
    assert 1.5 <= x <= 1.6
    assert 2.5 <= y <= 2.6
    assert change.pose.yaw_rad == pytest.approx(0.3)


def test_terms_report_the_kinds_of_change_that_they_request():
    assert kinds_of(terms(FRICTION, MASS)) == {SetFriction, SetMass}
    assert kinds_of(terms("{name: n, term: scan_noise, set: 0.1}")) == frozenset()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            FRICTION.replace(".*::l::c", "flor.*"),
            "randomize 'grip': unknown collision that matches 'flor.*'",
        ),
        (
            FRICTION.replace('".*::l::c"', '".*::l::c", number: 4'),
            "randomize 'grip': select.number is 4, but only 3 names match",
        ),
        (
            '{name: load, term: mass, select: {names: "floor::l"}, set: 1}',
            "randomize 'load': unknown link that can move that matches 'floor::l'",
        ),
        ("{name: slip, term: wheel_slip, set: 0.1}", "'wheel_slip' needs a robot"),
        ("{name: x, term: friktion, set: 1}", "unknown term 'friktion'"),
    ],
)
def test_a_selection_without_a_match_is_rejected_with_the_name_of_the_term(line, expected):
    with pytest.raises(SpecError, match=expected.replace("(", r"\(").replace("*", r"\*")):
        draw(line)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{name: x, set: 1}", "terms.yaml:2: terms[0] has no term; add friction, mass"),
        ("{name: x, term: gravity}", "terms.yaml:2: terms[0]: x needs exactly one of"),
        ("{name: x, term: gravity, set: 1, add: 1}", "one of the keys 'set', 'add' and 'scale'"),
        (
            '{name: x, term: friction, select: {names: "("}, set: 1}',
            'select.names is "(", which is not a regular expression',
        ),
        ("{name: x, term: friction, set: 1}", "select is missing"),
        (
            "{name: x, term: scan_dropout, set: 1.5}",
            "x: the value of 'scan_dropout' must be from 0 to 1",
        ),
        (
            "{name: x, term: scan_noise, set: -0.1}",
            "x: the value of 'scan_noise' must be from 0 to",
        ),
        ("{name: x, term: scan_noise, add: 0.1}", "kind 'scan_noise' needs the key 'set'"),
        (
            "{name: x, term: scan_noise, set: 0.1, when: {every_s: 3}}",
            "x: the value of 'scan_noise' can be drawn only once",
        ),
        ("{name: x, term: gravity, set: 1, when: sometimes}", "when"),
        ("{name: x, term: gravity, set: 1, wen: world}", "unknown key 'wen'; did you mean 'when'?"),
    ],
)
def test_an_invalid_term_is_rejected_with_its_line(line, expected):
    with pytest.raises(SpecError, match=re.escape(expected)):
        terms(line)


def scan(ranges, stamp_s=0.1):
    return LaserScan(stamp_s, -1.0, 1.0, 0.1, 10.0, np.array(ranges, dtype=float))


def only_filter(line, **more):
    (found,) = draw(line, **more).filters
    return found


class TestFaults:
    def test_noise_has_the_drawn_deviation_and_does_not_change_rays_without_a_return(self):
        noise = only_filter("{name: n, term: scan_noise, set: 0.05}")
        ranges = np.full(20_000, 5.0)
        ranges[0], ranges[1] = math.inf, -math.inf
        found = noise.scanned(scan(ranges)).ranges_m
        assert found[0] == math.inf
        assert found[1] == -math.inf
        assert np.std(found[2:]) == pytest.approx(0.05, rel=0.03)
        assert np.mean(found[2:]) == pytest.approx(5.0, abs=0.002)

    def test_noise_depends_on_the_stamp_and_not_on_previous_scans(self):
        first, second = (only_filter("{name: n, term: scan_noise, set: 0.05}") for _ in range(2))
        first.scanned(scan([5.0] * 9, 0.1))
        late = [f.scanned(scan([5.0] * 9, 0.2)).ranges_m for f in (first, second)]
        assert np.array_equal(*late)
        assert not np.array_equal(second.scanned(scan([5.0] * 9, 0.3)).ranges_m, late[0])

    def test_a_bias_is_added_to_ranges_with_a_return(self):
        bias = only_filter("{name: b, term: scan_bias, set: -0.2}")
        found = bias.scanned(scan([5.0, math.inf, 0.25])).ranges_m
        assert found.tolist() == [4.8, math.inf, -math.inf]

    def test_dropout_removes_the_return_of_a_share_of_the_rays(self):
        dropout = only_filter("{name: d, term: scan_dropout, set: 0.1}")
        found = dropout.scanned(scan(np.full(20_000, 5.0))).ranges_m
        assert np.isinf(found).mean() == pytest.approx(0.1, abs=0.01)

    def test_a_delayed_scan_has_the_drawn_age(self):
        delay = only_filter("{name: d, term: scan_delay, set: 0.25}")
        seen = []
        for tick in range(1, 11):
            newest = scan([5.0], round(tick * 0.1, 6))
            seen.append(delay.delayed(newest, newest.stamp_s).stamp_s)
        assert seen == [0.1, 0.1, 0.1, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]

    def test_actuator_lag_is_that_of_a_first_order_system(self):
        lag = only_filter("{name: l, term: actuator_lag, set: 0.5}")
        speeds = [lag.commanded(Twist2D(1.0, 0.5), t * 0.1, 0.1).linear_mps for t in range(10)]
        assert speeds == pytest.approx([1 - math.exp(-(t + 1) * 0.1 / 0.5) for t in range(10)])

    def test_left_and_right_wheels_slip_independently(self):
        robot = read_robot(share_directory() / "models" / "wheelchair", "robot")
        scene = RandomizedScene(WORLD, {}, robot)
        slip = only_filter("{name: s, term: wheel_slip, set: [0, 0.4]}", scene=scene)
        found = slip.commanded(Twist2D(1.0, 0.0), 0.0, 0.1)
        assert 0.6 < found.linear_mps < 1.0
        assert abs(found.angular_radps) > 0.01
        alike = "{name: s, term: wheel_slip, set: [0, 0.4], shared: true}"
        both = only_filter(alike, scene=scene).commanded(Twist2D(1.0, 0.2), 0.0, 0.1)
        assert both.angular_radps / both.linear_mps == pytest.approx(0.2)


def test_repeated_term_without_a_match_is_rejected_before_the_trial():
    term = "{name: t, term: push, select: {names: 'no::.*'}, set: 5, when: {every_s: 1}}"
    with pytest.raises(SpecError, match=r"'t'.*no::"):
        draw(term)


def test_check_of_a_repeated_term_does_not_change_its_draws():
    once = "{name: t, term: push, select: {names: 'a::l'}, set: [5, 50], when: {every_s: [1, 2]}}"
    first, second = (draw(once).hooks[0]._due_s for _ in range(2))
    random = child_generator(3, TERM, "t", 0, 0)
    assert first == second == pytest.approx(1.0 + float(random.random()))
