"""What the client makes of gazebo_ros's awkward answers: what counts is what is shown, soon."""

import time

import pytest
from fake_gazebo_ros import FakeGazeboRos, Vanish, hang, later
from gazebo_msgs import srv

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
    """One that gives up soon, for what never comes."""
    client = GazeboRosClient(PATIENCE_S, effect_timeout_s=0.6, master_uri=fake.master_uri)
    yield client
    client.close()


@pytest.fixture
def hurried(fake):
    """One that does not wait long for an answer."""
    client = GazeboRosClient(LIMIT_S, PATIENCE_S, master_uri=fake.master_uri)
    yield client
    client.close()


def a(name):
    return NamedModel(name, BOX, PLACE)


def timed_out(request, serve):
    return srv.SpawnModelResponse(False, "SpawnModel: Entity pushed to spawn queue, but timed out")


def test_models_are_spawned_at_the_pose_asked_for_and_not_composed_with_their_own(fake, client):
    client.spawn_models([a("one"), a("two")])
    assert fake.names() == ["floor", "one", "two"]
    assert fake.pose("two").position == pytest.approx(PLACE.position)


def test_many_states_are_asked_for_before_the_first_answer_is_read(fake, client):
    fake.models = [[f"box_{i}", Pose((float(i), 0.0, 0.0))] for i in range(250)]
    states = client.states([*fake.names(), "nobody"])
    assert list(states) == fake.names()
    assert [state.pose.position[0] for state in states.values()] == list(range(250))
    assert fake.asked_ahead == {"get_model_state"}


def test_one_connection_serves_call_after_call(fake, client):
    for _ in range(3):
        client.states(["floor"])
    assert [name for name, _ in fake._connections] == ["get_model_state"]


def test_a_spawn_that_is_said_to_have_timed_out_is_good_once_the_model_appears(fake, client):
    def slowly(request, serve):
        later(0.2, lambda: serve(request))
        return timed_out(request, serve)

    fake.trouble["spawn_sdf_model"] = slowly
    client.spawn_models([a("late")])
    assert "late" in fake.names()


def test_a_spawn_that_is_said_to_be_good_is_not_when_nothing_appears(fake, impatient):
    fake.trouble["spawn_sdf_model"] = lambda request, serve: srv.SpawnModelResponse(True, "done")
    with pytest.raises(SimulatorError, match="lost not shown after spawning: done"):
        impatient.spawn("lost", BOX)


def test_a_refusal_is_believed_at_once_and_what_was_spawned_with_it_goes(fake, client):
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


def test_an_entity_that_exists_already_is_good_when_it_was_not_there_before(fake, client):
    def twice(request, serve):
        serve(request)
        return serve(request)

    fake.trouble["spawn_sdf_model"] = twice
    client.spawn_models([a("one")])
    assert fake.names() == ["floor", "one"]


def test_a_name_that_was_taken_is_refused_and_its_owner_stays(fake, client):
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
def test_what_gazebo_would_reject_in_silence_is_never_sent(fake, client, sdf):
    with pytest.raises(SimulatorError, match="cannot spawn 'broken'"):
        client.spawn_models([NamedModel("broken", sdf)])
    with pytest.raises(SimulatorError, match="cannot spawn 'broken'"):
        client.spawn("broken", sdf)
    assert "spawn_sdf_model" not in fake.calls


def test_a_spawn_that_never_answers_is_given_up_and_the_next_call_is_not_waited_for_as_long(
    fake, hurried
):
    fake.trouble["spawn_sdf_model"] = hang
    began = time.monotonic()
    with pytest.raises(SimulatorError, match=r"one was not spawned.*1.5 s of wall time.*paused"):
        hurried.spawn("one", BOX)
    assert LIMIT_S <= time.monotonic() - began < 30.0


def test_a_service_that_vanishes_in_a_call_and_comes_back_is_called_again(fake, client):
    def vanish_once(request, serve):
        del fake.trouble["get_model_state"]
        raise Vanish

    fake.trouble["get_model_state"] = vanish_once
    assert list(client.states(["floor"])) == ["floor"]


def test_a_kept_connection_to_a_service_that_was_restarted_is_replaced(fake, client):
    client.states(["floor"])
    fake.withdraw("get_model_state")
    fake.offer("get_model_state")
    assert list(client.states(["floor"])) == ["floor"]


def test_a_service_that_is_gone_for_good_is_named_with_the_master(fake, client):
    fake.withdraw("get_model_state")
    with pytest.raises(SimulatorError, match=f"/gazebo/get_model_state.*{fake.master_uri}"):
        client.states(["floor"])


def test_a_master_that_is_not_there_is_named():
    client = GazeboRosClient(master_uri="http://127.0.0.1:9")
    with pytest.raises(SimulatorError, match=r"master at http://127.0.0.1:9 .*start roscore"):
        client.world()


@pytest.mark.parametrize("heard", [True, False])
def test_a_spawn_whose_connection_breaks_is_made_once_in_the_end(fake, client, heard):
    def break_once(request, serve):
        del fake.trouble["spawn_sdf_model"]
        if heard:
            serve(request)
        raise Vanish

    fake.trouble["spawn_sdf_model"] = break_once
    client.spawn_models([a("one")])
    assert fake.names() == ["floor", "one"]


def test_a_state_that_is_set_later_than_answered_is_waited_for(fake, client):
    def later_than_said(request, serve):
        later(0.2, lambda: serve(request))
        return srv.SetModelStateResponse(True, "set model state done")

    fake.trouble["set_model_state"] = later_than_said
    client.set_states({"floor": ModelState(PLACE)})
    assert fake.pose("floor").position == pytest.approx(PLACE.position)


def test_a_state_that_is_answered_and_never_set_is_an_error(fake, impatient):
    fake.trouble["set_model_state"] = lambda request, serve: srv.SetModelStateResponse(True, "")
    with pytest.raises(SimulatorError, match="still elsewhere after being placed: floor"):
        impatient.set_states({"floor": ModelState(PLACE)})


def test_what_was_set_down_above_the_floor_may_have_fallen_when_it_is_seen_from_above(
    fake, client, impatient
):
    def fall(request, serve):
        request.model_state.pose.position.z -= 0.2
        return serve(request)

    fake.trouble["set_model_state"] = fall
    client.set_states({"floor": ModelState(PLACE)}, from_above=True)
    with pytest.raises(SimulatorError, match="still elsewhere"):
        impatient.set_states({"floor": ModelState(PLACE)})


def test_a_state_that_is_refused_does_not_keep_the_others_back(fake, client):
    with pytest.raises(SimulatorError, match="nobody: SetModelState: model does not exist"):
        client.set_states({"nobody": ModelState(PLACE), "floor": ModelState(PLACE)})
    assert fake.pose("floor").position == pytest.approx(PLACE.position)


def test_all_models_of_a_name_that_comes_twice_are_deleted(fake, client):
    fake.models += [["twin", Pose()], ["twin", Pose()]]
    client.delete(["twin"])
    assert fake.names() == ["floor"]


def test_a_name_is_not_given_again_while_gazebo_may_obey_its_own_notice_of_the_deletion(
    fake, client
):
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


def test_deleting_many_may_take_longer_than_one_may_take_to_go(fake, impatient):
    def slowly(request, serve):
        time.sleep(0.25)
        return serve(request)

    fake.models += [[name, Pose()] for name in ("one", "two", "three")]
    fake.trouble["delete_model"] = slowly
    impatient.delete(["one", "two", "three"])
    assert fake.names() == ["floor"]


def test_models_that_stay_when_they_are_deleted_are_named(fake, impatient):
    fake.trouble["delete_model"] = lambda request, serve: srv.DeleteModelResponse(
        False, "timed out"
    )
    with pytest.raises(SimulatorError, match=r"still there .*: floor \(floor: timed out\)"):
        impatient.delete(["floor"])


def test_a_model_that_the_world_file_puts_elsewhere_is_put_where_it_was_asked_for(fake, client):
    def where_the_file_says(request, serve):
        answer = serve(request)
        fake.models[-1][1] = Pose((20.0, 0.0, 0.0))
        return answer

    fake.trouble["spawn_sdf_model"] = where_the_file_says
    client.spawn_models([a("one")])
    assert fake.pose("one").position == pytest.approx(PLACE.position)
