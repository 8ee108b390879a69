"""Client of gazebo_ros with delayed, wrong and missing responses."""

import time

import pytest
from fake_gazebo_ros import FakeGazeboRos, Vanish, hang, later
from gazebo_msgs import srv
from gz_testauto.srv import SpawnModelsResponse

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.simulators.gazebo_ros import GazeboRosClient
from gz_testauto.simulators.gazebo_ros.client import ECHO_S
from gz_testauto.simulators.interface import NamedModel

BOX = """<sdf version="1.6"><model name="any"><pose>7 7 7 0 0 0</pose><link name="link"/></model>
</sdf>"""
PLACE = Pose.from_rpy(1.0, 2.0, 0.25, 0.0, 0.0, 0.5)
LIMIT_S = 1.5
PATIENCE_S = 60.0


@pytest.fixture
def fake():
    with FakeGazeboRos("floor") as gazebo_ros:
        yield gazebo_ros


@pytest.fixture
def client(fake):
    client = GazeboRosClient(PATIENCE_S, PATIENCE_S, master_uri=fake.master_uri)
    yield client
    client.close()


@pytest.fixture
def impatient(fake):
    """Return a client with a short timeout for effects."""
    client = GazeboRosClient(PATIENCE_S, effect_timeout_s=0.6, master_uri=fake.master_uri)
    yield client
    client.close()


@pytest.fixture
def hurried(fake):
    """Return a client with a short timeout for responses."""
    client = GazeboRosClient(LIMIT_S, PATIENCE_S, master_uri=fake.master_uri)
    yield client
    client.close()


def a(name):
    return NamedModel(name, BOX, PLACE)


def timed_out(request, serve):
    return srv.SpawnModelResponse(False, "SpawnModel: Entity pushed to spawn queue, but timed out")


def test_spawned_models_have_the_requested_poses(fake, client):
    client.spawn_models([a("one"), a("two")])
    assert fake.names() == ["floor", "one", "two"]
    assert fake.pose("two").position == pytest.approx(PLACE.position)


def test_many_requests_are_sent_before_the_first_response_is_read(fake, client):
    fake.models = [[f"box_{i}", Pose((float(i), 0.0, 0.0))] for i in range(250)]
    states = client.states([*fake.names(), "nobody"])
    assert list(states) == fake.names()
    assert [state.pose.position[0] for state in states.values()] == list(range(250))
    assert fake.asked_ahead == {"get_model_state"}


def test_a_simulator_node_spawns_and_deletes_many_models_per_request(fake, client):
    fake.offer("spawn_models")
    fake.offer("delete_models")
    client.spawn(dict.fromkeys(("a", "b", "c"), BOX))
    client.spawn_models([a("d"), a("e")])
    assert fake.names() == ["floor", "a", "b", "c", "d", "e"]
    assert fake.pose("d") == PLACE
    client.delete(["a", "c", "e"])
    assert fake.names() == ["floor", "b", "d"]
    assert {"spawn_sdf_model", "delete_model"}.isdisjoint(fake.calls)
    assert (fake.calls.count("spawn_models"), fake.calls.count("delete_models")) == (2, 1)


def test_rejection_by_a_simulator_node_is_reported_and_nothing_remains(fake, client):
    fake.offer("spawn_models")
    fake.trouble["spawn_models"] = lambda request, serve: SpawnModelsResponse(False, "too many")
    with pytest.raises(SimulatorError, match="too many"):
        client.spawn_models([a("one"), a("two")])
    assert fake.names() == ["floor"]


def test_one_connection_is_used_for_many_calls(fake, client):
    for _ in range(3):
        client.states(["floor"])
    assert [name for name, _ in fake._connections] == ["get_model_state"]


def test_spawn_with_a_reported_timeout_succeeds_if_the_model_appears(fake, client):
    def slowly(request, serve):
        later(0.2, lambda: serve(request))
        return timed_out(request, serve)

    fake.trouble["spawn_sdf_model"] = slowly
    client.spawn_models([a("late")])
    assert "late" in fake.names()


def test_spawn_with_reported_success_fails_if_no_model_appears(fake, impatient):
    fake.trouble["spawn_sdf_model"] = lambda request, serve: srv.SpawnModelResponse(True, "done")
    with pytest.raises(SimulatorError, match=r"lost \(done\)$"):
        impatient.spawn({"lost": BOX})


def test_rejected_spawn_fails_immediately_and_removes_the_other_models(fake, client):
    def refuse_two(request, serve):
        if request.model_name == "two":
            return srv.SpawnModelResponse(False, "no room")
        return serve(request)

    fake.trouble["spawn_sdf_model"] = refuse_two
    began = time.monotonic()
    with pytest.raises(SimulatorError, match="two was not spawned: no room"):
        client.spawn_models([a("one"), a("two"), a("three")])
    assert time.monotonic() - began < PATIENCE_S
    assert fake.names() == ["floor"]


def test_spawn_succeeds_on_an_entity_exists_reply_if_the_model_was_absent_before(fake, client):
    def twice(request, serve):
        serve(request)
        return serve(request)

    fake.trouble["spawn_sdf_model"] = twice
    client.spawn_models([a("one")])
    assert fake.names() == ["floor", "one"]


def test_spawning_a_name_in_use_is_rejected_and_keeps_the_existing_model(fake, client):
    for models in ([a("one"), a("floor")], [a("one"), a("one")]):
        with pytest.raises(SimulatorError, match="exists already"):
            client.spawn_models(models)
    assert fake.names() == ["floor"]
    assert "spawn_sdf_model" not in fake.calls


@pytest.mark.parametrize(
    "sdf",
    [
        "<sdf version='1.6'><model></sdf>",
        "<sdf version='1.6'><world name='w'/></sdf>",
        BOX.replace('<link name="link"/>', "<link/>"),
    ],
)
def test_invalid_sdf_is_not_sent_to_gazebo(fake, client, sdf):
    with pytest.raises(SimulatorError, match="cannot spawn 'broken'"):
        client.spawn_models([NamedModel("broken", sdf)])
    with pytest.raises(SimulatorError, match="cannot spawn 'broken'"):
        client.spawn({"broken": sdf})
    assert "spawn_sdf_model" not in fake.calls


def test_spawn_without_a_response_times_out_and_shortens_the_next_timeout(fake, hurried):
    fake.trouble["spawn_sdf_model"] = hang
    began = time.monotonic()
    with pytest.raises(SimulatorError, match=r"one was not spawned.*1.5 s of wall time.*paused"):
        hurried.spawn({"one": BOX})
    assert LIMIT_S <= time.monotonic() - began < 30.0


def test_service_that_restarts_during_a_call_is_called_again(fake, client):
    def vanish_once(request, serve):
        del fake.trouble["get_model_state"]
        raise Vanish

    fake.trouble["get_model_state"] = vanish_once
    assert list(client.states(["floor"])) == ["floor"]


def test_connection_to_a_restarted_service_is_replaced(fake, client):
    client.states(["floor"])
    fake.withdraw("get_model_state")
    fake.offer("get_model_state")
    assert list(client.states(["floor"])) == ["floor"]


def test_error_names_the_missing_service_and_the_master(fake, client):
    fake.withdraw("get_model_state")
    with pytest.raises(SimulatorError, match=f"/gazebo/get_model_state.*{fake.master_uri}"):
        client.states(["floor"])


def test_error_names_the_missing_master():
    client = GazeboRosClient(master_uri="http://127.0.0.1:9")
    with pytest.raises(SimulatorError, match=r"master at http://127.0.0.1:9 .*start roscore"):
        client.world()


@pytest.mark.parametrize("heard", [True, False])
def test_spawn_with_a_broken_connection_spawns_one_model(fake, client, heard):
    def break_once(request, serve):
        del fake.trouble["spawn_sdf_model"]
        if heard:
            serve(request)
        raise Vanish

    fake.trouble["spawn_sdf_model"] = break_once
    client.spawn_models([a("one")])
    assert fake.names() == ["floor", "one"]


def test_set_states_waits_for_a_delayed_state(fake, client):
    def later_than_said(request, serve):
        later(0.2, lambda: serve(request))
        return srv.SetModelStateResponse(True, "set model state done")

    fake.trouble["set_model_state"] = later_than_said
    client.set_states({"floor": ModelState(PLACE)})
    assert fake.pose("floor").position == pytest.approx(PLACE.position)


def test_set_states_raises_if_a_state_is_never_set(fake, impatient):
    fake.trouble["set_model_state"] = lambda request, serve: srv.SetModelStateResponse(True, "")
    with pytest.raises(SimulatorError, match="floor"):
        impatient.set_states({"floor": ModelState(PLACE)})


def test_comparison_from_above_ignores_the_height(fake, client, impatient):
    def fall(request, serve):
        request.model_state.pose.position.z -= 0.2
        return serve(request)

    fake.trouble["set_model_state"] = fall
    client.set_states({"floor": ModelState(PLACE)}, from_above=True)
    with pytest.raises(SimulatorError, match="did not reach"):
        impatient.set_states({"floor": ModelState(PLACE)})


def test_rejected_state_does_not_affect_other_models(fake, client):
    with pytest.raises(SimulatorError, match="nobody: SetModelState: model does not exist"):
        client.set_states({"nobody": ModelState(PLACE), "floor": ModelState(PLACE)})
    assert fake.pose("floor").position == pytest.approx(PLACE.position)


def test_delete_removes_all_models_of_a_repeated_name(fake, client):
    fake.models += [["twin", Pose()], ["twin", Pose()]]
    client.delete(["twin"])
    assert fake.names() == ["floor"]


def test_name_is_not_used_again_immediately_after_a_deletion(fake, client):
    asked_s = {}

    def noting(service):
        def note(request, serve):
            asked_s[service] = time.monotonic()
            return serve(request)

        return note

    client.spawn_models([a("one")])
    fake.trouble = {service: noting(service) for service in ("delete_model", "spawn_sdf_model")}
    client.delete(["one"])
    client.spawn_models([a("one")])
    assert asked_s["spawn_sdf_model"] - asked_s["delete_model"] > ECHO_S
    assert fake.names() == ["floor", "one"]


def test_deleting_many_models_can_exceed_the_timeout_of_one(fake, impatient):
    def slowly(request, serve):
        time.sleep(0.25)
        return serve(request)

    fake.models += [[name, Pose()] for name in ("one", "two", "three")]
    fake.trouble["delete_model"] = slowly
    impatient.delete(["one", "two", "three"])
    assert fake.names() == ["floor"]


def test_error_names_the_models_that_cannot_be_deleted(fake, impatient):
    fake.trouble["delete_model"] = lambda request, serve: srv.DeleteModelResponse(
        False, "timed out"
    )
    with pytest.raises(SimulatorError, match=r": floor \(floor: timed out\)"):
        impatient.delete(["floor"])


def test_pose_of_the_world_file_is_replaced_by_the_requested_pose(fake, client):
    def where_the_file_says(request, serve):
        answer = serve(request)
        fake.models[-1][1] = Pose((20.0, 0.0, 0.0))
        return answer

    fake.trouble["spawn_sdf_model"] = where_the_file_says
    client.spawn_models([a("one")])
    assert fake.pose("one").position == pytest.approx(PLACE.position)
