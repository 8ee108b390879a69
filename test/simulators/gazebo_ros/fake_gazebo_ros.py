"""A substitute for gazebo_ros over TCPROS, with the delays and errors of gazebo_ros.

It consists of a ROS master with services only, and of the services, with one thread per connection.
A script can replace a service: ``trouble["spawn_sdf_model"] = script``. Then ``script(request,
serve)`` is called in place of the service until the script is removed.
"""

import contextlib
import io
import select
import socket
import struct
import threading
import time
from xmlrpc.server import SimpleXMLRPCServer

from gazebo_msgs import srv
from gz_testauto.srv import DeleteModelsResponse, SpawnModelsResponse
from std_srvs.srv import EmptyResponse

from gz_testauto.base import ros_messages
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.edit import parse_model
from gz_testauto.simulators.gazebo_ros.client import KINDS as STOCK_KINDS
from gz_testauto.simulators.gazebo_ros.client import OWN_KINDS

KINDS = {**STOCK_KINDS, **OWN_KINDS}
LENGTH = struct.Struct("<I")


class Vanish(Exception):
    """The error that a script raises to close the connection without a response."""


class FakeGazeboRos:
    """A substitute for a server with gazebo_ros. ``models`` are pairs of name and pose; a name can
    occur twice."""

    def __init__(self, *names):
        self.models = [[name, Pose()] for name in names]
        self.time_s = 1.0
        self.paused = True
        self.trouble = {}
        self.calls = []
        self.asked_ahead = set()
        self._lock = threading.RLock()
        self._servers = {}
        self._connections = []
        self._master = SimpleXMLRPCServer(("127.0.0.1", 0), logRequests=False, allow_none=True)
        self._master.register_function(self._look_up, "lookupService")
        self._master.register_function(lambda caller, name: (-1, "", 0), "getParam")
        self._master.register_function(self._state, "getSystemState")
        threading.Thread(target=self._master.serve_forever, args=(0.02,), daemon=True).start()
        self.master_uri = f"http://127.0.0.1:{self._master.server_address[1]}"
        for name in STOCK_KINDS:
            self.offer(name)

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        for name in list(self._servers):
            self.withdraw(name)
        self._master.shutdown()
        self._master.server_close()

    def offer(self, name):
        """Provide a service at a new address."""
        server = self._servers[name] = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, args=(name, server), daemon=True).start()

    def withdraw(self, name):
        """Stop a service and close its connections."""
        server = self._servers.pop(name)
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        for kept, connection in self._connections:
            if kept == name:
                _hang_up(connection)

    def names(self):
        return [name for name, _ in self.models]

    def pose(self, name):
        return dict(reversed(self.models))[name]

    # protocol

    def _look_up(self, caller, name):
        server = self._servers.get(name.rsplit("/", 1)[-1])
        if server is None:
            return -1, "no provider", ""
        return 1, "", f"rosrpc://127.0.0.1:{server.getsockname()[1]}"

    def _state(self, caller):
        return 1, "", [[], [], [[f"/gazebo/{name}", ["/gazebo"]] for name in self._servers]]

    def _accept(self, name, server):
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            connection.settimeout(60)
            self._connections.append((name, connection))
            threading.Thread(target=self._talk, args=(name, connection), daemon=True).start()

    def _talk(self, name, connection):
        try:
            header = _take(connection)
            assert b"persistent=1" in header and KINDS[name]._md5sum.encode() in header
            field = b"md5sum=" + KINDS[name]._md5sum.encode()
            block = LENGTH.pack(len(field)) + field
            connection.sendall(LENGTH.pack(len(block)) + block)
            while True:
                request = KINDS[name]._request_class().deserialize(_take(connection))
                self.calls.append(name)
                if select.select([connection], [], [], 0)[0]:
                    self.asked_ahead.add(name)
                answer = self._respond(name, request)
                buffer = io.BytesIO()
                answer.serialize(buffer)
                connection.sendall(b"\x01" + LENGTH.pack(buffer.tell()) + buffer.getvalue())
        except (OSError, EOFError, Vanish):
            _hang_up(connection)

    def _respond(self, name, request):
        serve = getattr(self, name)
        script = self.trouble.get(name)
        if script is not None:
            return script(request, serve)
        with self._lock:
            return serve(request)

    # the services

    def get_world_properties(self, request):
        return srv.GetWorldPropertiesResponse(self.time_s, self.names(), True, True, "")

    def get_model_state(self, request):
        if request.model_name not in self.names():
            return srv.GetModelStateResponse(success=False, status_message="does not exist")
        pose = ros_messages.pose_message(self.pose(request.model_name))
        return srv.GetModelStateResponse(pose=pose, success=True)

    def set_model_state(self, request):
        state = request.model_state
        for model in self.models:
            if model[0] == state.model_name:
                model[1] = ros_messages.pose_of(state.pose)
                return srv.SetModelStateResponse(True, "")
        return srv.SetModelStateResponse(False, "SetModelState: model does not exist")

    def spawn_sdf_model(self, request):
        if request.model_name in self.names():
            return srv.SpawnModelResponse(False, "SpawnModel: Failure - entity already exists.")
        own = parse_model(request.model_xml).findtext("pose")
        own = Pose.from_values(own.split()) if own else Pose()
        self.models.append([request.model_name, ros_messages.pose_of(request.initial_pose) * own])
        return srv.SpawnModelResponse(True, "SpawnModel: Successfully spawned entity")

    def spawn_models(self, request):
        for name, sdf, pose in zip(request.names, request.sdf, request.poses):
            answer = self.spawn_sdf_model(srv.SpawnModelRequest(name, sdf, "", pose, ""))
            if not answer.success:
                return SpawnModelsResponse(False, answer.status_message)
        return SpawnModelsResponse(True, "")

    def delete_models(self, request):
        for name in request.names:
            self.delete_model(srv.DeleteModelRequest(name))
        return DeleteModelsResponse(True, "")

    spawn_urdf_model = spawn_sdf_model

    def delete_model(self, request):
        for model in self.models:
            if model[0] == request.model_name:
                self.models.remove(model)
                return srv.DeleteModelResponse(True, "")
        return srv.DeleteModelResponse(False, "DeleteModel: model does not exist")

    def get_model_properties(self, request):
        there = request.model_name in self.names()
        return srv.GetModelPropertiesResponse(body_names=["link"], success=there)

    def get_link_state(self, request):
        response = srv.GetLinkStateResponse(success=True)
        response.link_state.pose = ros_messages.pose_message(
            self.pose(request.link_name.split("::")[0])
        )
        return response

    def get_physics_properties(self, request):
        response = srv.GetPhysicsPropertiesResponse(success=True, pause=self.paused)
        response.time_step, response.max_update_rate, response.gravity.z = 0.001, 1000.0, -9.8
        return response

    def set_physics_properties(self, request):
        return srv.SetPhysicsPropertiesResponse(False, "cannot be set")

    def pause_physics(self, request):
        self.paused = True
        return EmptyResponse()

    def unpause_physics(self, request):
        self.paused = False
        return EmptyResponse()

    reset_world = reset_simulation = pause_physics


def later(delay_s, do):
    """Call a function after a delay, in another thread."""
    timer = threading.Timer(delay_s, do)
    timer.daemon = True
    timer.start()


def hang(request, serve):
    """Wait until the end of the test without a response, as the script of a service."""
    time.sleep(30.0)
    raise Vanish


def _take(connection):
    return _exactly(connection, LENGTH.unpack(_exactly(connection, 4))[0])


def _exactly(connection, count):
    content = connection.recv(count, socket.MSG_WAITALL) if count else b""
    if len(content) < count:
        raise EOFError
    return content


def _hang_up(connection):
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
