"""Policies in files, and what they make of what they are shown."""

import json
import os

import numpy as np
import pytest

from gz_testauto.base.errors import GzTestautoError, SpecError
from gz_testauto.base.observation import LaserScan, TrackedObject, Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.extras.learning.demonstrations import Demonstrations
from gz_testauto.extras.learning.policies.files import PolicyCard, read_policy, write_policy
from gz_testauto.extras.learning.policies.observations import ObservationEncoder
from gz_testauto.extras.learning.policies.planner import PolicyInterface
from gz_testauto.extras.learning.policies.policy import WEIGHTED, MirroredPolicy, NetworkPolicy
from gz_testauto.planners import make_planner, planner_origin
from gz_testauto.planners.interface import Observation, RobotLimits, Task

TERMS = [("lidar", {"beams": 8, "range_m": 4.0}), ("plan", {})]
SQUARE = ((0.3, 0.3), (-0.3, 0.3), (-0.3, -0.3), (0.3, -0.3))
LIMITS = RobotLimits(SQUARE, max_linear_mps=2.0, max_angular_radps=1.0, max_linear_accel_mps2=100.0)
TASK = Task(Pose2D(5.0, 0.0, 0.0), 0.5, np.array([[0.0, 0.0], [5.0, 0.0]]), LIMITS)


def card(kind="mirrored", terms=TERMS):
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


def test_repeated_observation_term_is_a_separate_part():
    encoder = ObservationEncoder([("lidar", {"beams": 4}), ("plan", {}), ("lidar", {"beams": 6})])
    assert encoder.parts == {"lidar": slice(0, 4), "plan": slice(4, 8), "lidar 2": slice(8, 14)}
    assert WEIGHTED["linear"].count(encoder.parts) == 2 * (14 + 1)


@pytest.mark.parametrize("extra", [("twist", {}), ("objects", {}), ("lidar", {"beams": 2})])
def test_mirrored_policy_with_an_unused_observation_term_is_rejected(extra):
    with pytest.raises(ValueError, match=rf"remove {extra[0]}"):
        MirroredPolicy.count(ObservationEncoder([*TERMS, extra]).parts)


def test_untrained_mirrored_policy_turns_away_from_obstacles_and_slows_down():
    parts = ObservationEncoder(TERMS).parts
    policy = MirroredPolicy(MirroredPolicy.start(parts), parts)

    def act(ranges):
        policy.begin()
        return policy.act(encoded(TERMS, seen(ranges)))

    free = np.full(8, np.inf)
    left, ahead = free.copy(), free.copy()
    left[5], ahead[3:5] = 0.8, 0.8
    assert act(free)[0] > 0.9 and act(free)[1] == 0.0
    assert act(left)[1] < -0.2
    assert act(ahead)[0] < act(free)[0] - 0.05


@pytest.mark.parametrize("needs", [True, False])
def test_provenance_states_whether_a_policy_needs_tracked_objects(tmp_path, needs):
    terms = [*TERMS, ("objects", {})] if needs else TERMS
    parts = ObservationEncoder(terms).parts
    policy = WEIGHTED["linear"](np.zeros(WEIGHTED["linear"].count(parts)), parts)
    write_policy(tmp_path / "policy.npz", policy, card("linear", terms))
    origin = planner_origin("policy", file=str(tmp_path / "policy.npz"))
    assert origin.needs_objects is needs


def test_an_action_is_forward_speed_and_yaw_rate():
    interface = PolicyInterface(TERMS)
    interface.begin(TASK)
    at_rest = seen(np.full(8, np.inf))
    assert interface.command(np.array([1.0, 0.0]), at_rest) == pytest.approx((2.0, 0.0))
    assert interface.command(np.array([0.0, 9.0]), at_rest)[0] == pytest.approx(1.0)
    assert interface.command(np.array([-1.0, 0.0]), at_rest)[0] == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_a_mirrored_policy_gives_mirrored_commands_in_a_mirrored_world(seed):
    random = np.random.default_rng(seed)
    parts = ObservationEncoder(TERMS).parts
    policy = MirroredPolicy(random.standard_normal(MirroredPolicy.count(parts)), parts)
    ranges, angle = random.uniform(0.2, 5.0, 8), random.uniform(-1.0, 1.0)
    shown = encoded(TERMS, seen(ranges, pose=(0.0, 0.0, angle)))
    mirrored = encoded(TERMS, seen(ranges[::-1], pose=(0.0, 0.0, -angle)))
    policy.begin()
    forward, turn = policy.act(shown)
    policy.begin()
    assert policy.act(mirrored) == pytest.approx([forward, -turn], abs=1e-6)


@pytest.mark.parametrize("kind", sorted(WEIGHTED))
def test_a_stored_policy_equals_the_original(tmp_path, kind):
    parts = ObservationEncoder(TERMS).parts
    random = np.random.default_rng(4)
    hidden = [3, 4] if kind == "network" else []
    weights = random.standard_normal(WEIGHTED[kind].count(parts, hidden))
    policy = WEIGHTED[kind](weights, parts, hidden)
    described = card(kind).model_copy(update={"hidden": hidden})
    for name in ("a.npz", "b.npz"):
        write_policy(tmp_path / name, policy, described)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    back, told = read_policy(tmp_path / "a.npz")
    assert told == described
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
    parts = ObservationEncoder(TERMS).parts
    path = tmp_path / "policy.npz"
    write_policy(path, MirroredPolicy(MirroredPolicy.start(parts), parts), card())
    whole = path.read_bytes()
    for length in (10, len(whole) // 2, len(whole) - 30):
        path.write_bytes(whole[:length])
        with pytest.raises(SpecError, match="is damaged"):
            read_policy(path)
    write_policy(path, MirroredPolicy(MirroredPolicy.start(parts), parts), card(terms=TERMS[::-1]))
    read_policy(path)  # the same numbers in another order
    fewer = [("lidar", {"beams": 6}), ("plan", {})]
    write_policy(path, MirroredPolicy(MirroredPolicy.start(parts), parts), card(terms=fewer))
    with pytest.raises(SpecError, match=r"must have \(16,\)"):
        read_policy(path)


def test_a_policy_file_without_its_library_is_rejected(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"no model")
    (tmp_path / "model.onnx.json").write_text(json.dumps(card("onnx").model_dump(mode="json")))
    with pytest.raises(GzTestautoError, match=r"needs onnxruntime|ONNX model"):
        read_policy(tmp_path / "model.onnx")


def test_a_network_computes_hidden_layers_and_limits_its_output():
    hidden, random = (3, 4), np.random.default_rng(2)
    parts = {"goal": slice(0, 5)}
    layers = [random.standard_normal(size) for size in ((3, 6), (4, 4), (2, 5))]
    shown = random.uniform(-1.0, 1.0, 5)
    numbers = np.tanh(layers[0][:, :5] @ shown + layers[0][:, 5])
    numbers = np.tanh(layers[1][:, :3] @ numbers + layers[1][:, 3])
    expected = layers[2][:, :4] @ numbers + layers[2][:, 4]
    weights = np.concatenate([layer.ravel() for layer in layers])
    assert NetworkPolicy(weights, parts, hidden).act(shown) == pytest.approx(
        np.clip(expected, -1.0, 1.0), abs=1e-12
    )
    weights[-1] += 100.0
    assert NetworkPolicy(weights, parts, hidden).act(shown)[1] == 1.0
    with pytest.raises(ValueError, match=r"must have \(47,\)"):
        NetworkPolicy(weights, parts, (4, 3))


@pytest.mark.parametrize("seed", range(5))
def test_mirrored_policy_does_not_speed_up_closer_to_an_obstacle(seed):
    parts = ObservationEncoder([("lidar", {"beams": 8}), ("plan", {})]).parts
    random = np.random.default_rng(seed)
    weights = random.standard_normal(MirroredPolicy.count(parts))
    weights[:8] = 0.0  # steers by nothing: turning slows too
    speeds = []
    for near in np.linspace(0.0, 1.0, 6):
        shown = np.concatenate([np.full(8, near), [1.0, 1.0, 0.0, 1.0]])
        speeds.append(MirroredPolicy(weights, parts).act(shown)[0])
    assert speeds == sorted(speeds, reverse=True)
    assert speeds[-1] < speeds[0]


def test_a_mirrored_policy_slows_down_for_either_sign_of_a_weight():
    parts = ObservationEncoder([("lidar", {"beams": 8}), ("plan", {})]).parts
    random = np.random.default_rng(1)
    weights = random.standard_normal(MirroredPolicy.count(parts))
    other = weights.copy()
    other[[8, 9, 10, 11, -3, -1]] *= -1.0  # for what is near, for turning, at the end
    shown = random.uniform(0.0, 1.0, 12)
    ways = [MirroredPolicy(numbers, parts).act(shown) for numbers in (weights, other)]
    assert np.array_equal(*ways)


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
