"""Policies in files, and what they make of what they are shown."""

import json
import os

import numpy as np
import pytest
from room import following

from gz_testauto.base.errors import GzTestautoError, SpecError
from gz_testauto.base.observation import LaserScan, TrackedObject, Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.extras.learning.demonstrations import Demonstrations
from gz_testauto.extras.learning.policies.files import PolicyCard, read_policy, write_policy
from gz_testauto.extras.learning.policies.observations import ObservationEncoder
from gz_testauto.extras.learning.policies.planner import PolicyInterface
from gz_testauto.extras.learning.policies.policy import KINDS, LinearPolicy, NetworkPolicy
from gz_testauto.planners import make_planner, planner_origin
from gz_testauto.planners.interface import Observation, RobotLimits, Task

TERMS = [("lidar", {"beams": 8, "range_m": 4.0}), ("plan", {})]
SQUARE = ((0.3, 0.3), (-0.3, 0.3), (-0.3, -0.3), (0.3, -0.3))
LIMITS = RobotLimits(SQUARE, max_linear_mps=2.0, max_angular_radps=1.0, max_linear_accel_mps2=100.0)
TASK = Task(Pose2D(5.0, 0.0, 0.0), 0.5, np.array([[0.0, 0.0], [5.0, 0.0]]), LIMITS)


def card(kind="linear", terms=TERMS):
    return PolicyCard(
        kind=kind, observations=[{"term": name, **parameters} for name, parameters in terms]
    )


def scan(ranges, field_rad=2 * np.pi):
    half = field_rad / 2
    step = field_rad / len(ranges)
    return LaserScan(0.0, -half + step / 2, half - step / 2, 0.1, 10.0, np.array(ranges, float))


def seen(ranges, pose=(0.0, 0.0, 0.0), twist=(0.0, 0.0), objects=()):
    return Observation(0.0, Pose2D(*pose), Twist2D(*twist), scan(ranges), objects)


def encoded(terms, observation, task=TASK):
    encoder = ObservationEncoder(terms)
    encoder.begin(task)
    return encoder.encode(observation)


def test_lidar_observation_is_the_smallest_gap_of_each_sector_to_the_footprint():
    ranges = np.full(16, np.inf)
    ranges[[1, 8, 9]] = 1.0, 3.0, 2.0
    gaps = []
    for distance, ray in ((1.0, 1), (2.0, 9)):
        angle = -np.pi + (ray + 0.5) * np.pi / 8
        beyond = np.abs([distance * np.cos(angle), distance * np.sin(angle)]) - 0.3
        gaps.append(np.hypot(*np.maximum(beyond, 0.0)))
    expected = [1 - gaps[0] / 4, 0, 0, 0, 1 - gaps[1] / 4, 0, 0, 0]
    assert encoded(TERMS[:1], seen(ranges)) == pytest.approx(expected)


def test_lidar_observation_is_one_for_a_point_at_the_footprint():
    ranges = np.full(8, np.inf)
    ranges[4] = 0.3 / np.cos(np.pi / 8)
    assert encoded(TERMS[:1], seen(ranges))[4] == pytest.approx(1.0)


def test_plan_and_goal_are_observed_in_the_robots_frame():
    beside = seen(np.full(8, np.inf), pose=(1.0, 0.0, np.pi / 2))
    assert encoded([("plan", {"lookahead_m": 2.0})], beside) == pytest.approx(
        [1.0, 0.0, -1.0, 0.4], abs=1e-6
    )
    assert encoded([("goal", {"range_m": 8.0})], beside) == pytest.approx(
        [0.5, 0.0, -1.0], abs=1e-6
    )


def test_a_twist_observation_is_relative_to_the_limits():
    assert encoded([("twist", {})], seen([np.inf], twist=(1.0, -0.5))) == pytest.approx([0.5, -0.5])


def test_observed_objects_are_sorted_by_distance_in_the_robots_frame():
    def tracked(name, x_m, y_m, vx_mps, vy_mps):
        path = np.array([[x_m, y_m, 0.0]])
        velocity = (vx_mps, vy_mps, 0.0)
        return TrackedObject(name, Pose2D(x_m, y_m, 0.0), velocity, np.zeros((3, 2)), path, 0.1)

    people = (tracked("a", 0.0, 4.0, 0.0, 1.0), tracked("b", 0.0, 2.0, -1.0, 0.0))
    looking_left = seen(
        [np.inf], pose=(0.0, 0.0, np.pi / 2), objects=(*people, tracked("c", 9, 9, 0, 0))
    )
    terms = [("objects", {"count": 3, "range_m": 8.0, "speed_mps": 2.0})]
    assert encoded(terms, looking_left) == pytest.approx(
        [1, 0.25, 0, 0, 0.5, 1, 0.5, 0, 0.5, 0, 0, 0, 0, 0, 0], abs=1e-6
    )


def test_observation_term_can_be_repeated_with_other_parameters():
    terms = [("lidar", {"beams": 4}), ("plan", {}), ("lidar", {"beams": 6})]
    assert encoded(terms, seen(np.full(8, 1.0))).shape == (14,)


@pytest.mark.parametrize("needs", [True, False])
def test_provenance_states_whether_a_policy_needs_tracked_objects(tmp_path, needs):
    terms = [*TERMS, ("objects", {})] if needs else TERMS
    size = ObservationEncoder(terms).size
    policy = LinearPolicy(np.zeros(2 * (size + 1)), size)
    write_policy(tmp_path / "policy.npz", policy, card(terms=terms))
    origin = planner_origin("policy", file=str(tmp_path / "policy.npz"))
    assert origin.needs_objects is needs


def test_an_action_is_forward_speed_and_yaw_rate():
    interface = PolicyInterface(TERMS)
    interface.begin(TASK)
    at_rest = seen(np.full(8, np.inf))
    assert interface.command(np.array([1.0, 0.0]), at_rest) == pytest.approx((2.0, 0.0))
    assert interface.command(np.array([0.0, 9.0]), at_rest)[0] == pytest.approx(1.0)
    assert interface.command(np.array([-1.0, 0.0]), at_rest)[0] == 0.0


@pytest.mark.parametrize(("kind", "hidden", "count"), [("linear", [], 26), ("network", [3, 4], 65)])
def test_a_stored_policy_equals_the_original(tmp_path, kind, hidden, count):
    random = np.random.default_rng(4)
    policy = KINDS[kind](random.standard_normal(count), 12, hidden)
    described = card(kind).model_copy(update={"hidden": hidden})
    for name in ("a.npz", "b.npz"):
        write_policy(tmp_path / name, policy, described)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    back, stored = read_policy(tmp_path / "a.npz")
    assert stored == described
    shown = encoded(TERMS, seen(random.uniform(0.2, 5.0, 8)))
    assert np.array_equal(back.act(shown), policy.act(shown))
    planner = make_planner("policy", file=str(tmp_path / "a.npz"))
    planner.begin(TASK)
    command = planner.plan(seen(np.full(8, np.inf)))
    assert 0.0 <= command.linear_mps <= 2.0


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("none.npz", None, "none.npz: "),
        ("text.npz", b"not a policy", "is damaged"),
        ("model.onnx", b"x", "model.onnx.json: "),
        ("model.zip", b"x", "model.zip.json: "),
        ("model.bin", b"x", r"model.bin: .*\.npz, \.onnx or \.zip"),
    ],
)
def test_policy_files_of_other_formats_are_rejected(tmp_path, name, content, says):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(SpecError, match=says):
        read_policy(tmp_path / name)


def test_a_damaged_policy_is_rejected(tmp_path):
    path = tmp_path / "policy.npz"
    policy = LinearPolicy(following(TERMS), 12)
    write_policy(path, policy, card())
    whole = path.read_bytes()
    for length in (10, len(whole) // 2, len(whole) - 30):
        path.write_bytes(whole[:length])
        with pytest.raises(SpecError, match="is damaged"):
            read_policy(path)
    write_policy(path, policy, card(terms=TERMS[::-1]))
    read_policy(path)  # the same numbers in another order
    fewer = [("lidar", {"beams": 6}), ("plan", {})]
    write_policy(path, policy, card(terms=fewer))
    with pytest.raises(SpecError, match=r"must have \(22,\)"):
        read_policy(path)


def test_a_policy_of_an_unknown_kind_is_rejected_with_the_known_kinds(tmp_path):
    policy = LinearPolicy(following(TERMS), 12)
    write_policy(tmp_path / "policy.npz", policy, card("mirrored"))
    with pytest.raises(SpecError, match=r"policy\.npz: .*'mirrored'.*: linear, network"):
        read_policy(tmp_path / "policy.npz")


def test_a_policy_file_without_its_library_is_rejected(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"no model")
    (tmp_path / "model.onnx.json").write_text(json.dumps(card("onnx").model_dump(mode="json")))
    with pytest.raises(GzTestautoError, match=r"needs onnxruntime|ONNX model"):
        read_policy(tmp_path / "model.onnx")


def test_a_network_computes_hidden_layers_and_limits_its_output():
    hidden, random = (3, 4), np.random.default_rng(2)
    layers = [random.standard_normal(size) for size in ((3, 6), (4, 4), (2, 5))]
    shown = random.uniform(-1.0, 1.0, 5)
    numbers = np.tanh(layers[0][:, :5] @ shown + layers[0][:, 5])
    numbers = np.tanh(layers[1][:, :3] @ numbers + layers[1][:, 3])
    expected = layers[2][:, :4] @ numbers + layers[2][:, 4]
    weights = np.concatenate([layer.ravel() for layer in layers])
    assert NetworkPolicy(weights, 5, hidden).act(shown) == pytest.approx(
        np.clip(expected, -1.0, 1.0), abs=1e-12
    )
    weights[-1] += 100.0
    assert NetworkPolicy(weights, 5, hidden).act(shown)[1] == 1.0
    with pytest.raises(ValueError, match=r"must have \(47,\)"):
        NetworkPolicy(weights, 5, (4, 3))


@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", ["pipe.npz", "pipe.onnx", "card.onnx"])
def test_pipe_is_rejected_without_waiting(tmp_path, name):
    pipe = tmp_path / (name if name != "card.onnx" else "card.onnx.json")
    os.mkfifo(pipe)
    if name == "pipe.onnx":
        (tmp_path / "pipe.onnx.json").write_text(
            '{"kind": "PPO", "observations": [{"term": "lidar"}]}'
        )
    elif name == "card.onnx":
        (tmp_path / name).touch()
    with pytest.raises(SpecError, match=f"{name}.*not a"):
        read_policy(tmp_path / name)


@pytest.mark.timeout(30)
def test_demonstrations_in_a_pipe_are_rejected_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(SpecError, match=r"pipe\.npz.*not a regular file"):
        Demonstrations.read(tmp_path / "pipe.npz")


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\3\4" + b"x" * 100, b"\x93NUMPY\1\0"])
def test_damaged_archives_of_policies_and_demonstrations_are_rejected(tmp_path, content):
    (tmp_path / "x.npz").write_bytes(content)
    for read in (read_policy, Demonstrations.read):
        with pytest.raises(SpecError, match=r"x\.npz: the file "):
            read(tmp_path / "x.npz")


def test_a_policy_with_compressed_weights_is_rejected(tmp_path):
    np.savez_compressed(tmp_path / "p.npz", weights=np.zeros(1000), card=np.array("{}"))
    with pytest.raises(SpecError, match=r"p\.npz: .*weights\.npy is compressed"):
        read_policy(tmp_path / "p.npz")
