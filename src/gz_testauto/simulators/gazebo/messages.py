"""The messages of Gazebo 11 that this package uses, created at run time.

Any protobuf runtime from 3.20 on can be used, without generated code. In the table, ``!`` marks a
required field and ``*`` a repeated field. Enumerations are encoded as ``int32``.
"""

import re
from typing import Any, Dict

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PACKAGE = "gazebo.msgs"

TABLE = """
Time                sec!=1:int32 nsec!=2:int32
Vector3d            x!=1:double y!=2:double z!=3:double
Quaternion          x!=2:double y!=3:double z!=4:double w!=5:double
Pose                name=1:string id=2:uint32 position!=3:Vector3d orientation!=4:Quaternion
PosesStamped        time!=1:Time pose*=2:Pose
GzString            data!=1:string
GzString_V          data*=1:string
Packet              stamp!=1:Time type!=2:string serialized_data!=3:bytes
Publish             topic!=1:string msg_type!=2:string host!=3:string port!=4:uint32
Publishers          publisher*=1:Publish
Subscribe           topic!=1:string host!=2:string port!=3:uint32 msg_type!=4:string \
                    latching=5:bool
Request             id!=1:int32 request!=2:string data=3:string
Response            id!=1:int32 request!=2:string response!=3:string type=4:string \
                    serialized_data=5:bytes
Factory             sdf=1:string pose=3:Pose allow_renaming=6:bool
Color               r!=2:float g!=3:float b!=4:float a=5:float
Inertial            mass=1:double pose=2:Pose ixx=3:double ixy=4:double ixz=5:double \
                    iyy=6:double iyz=7:double izz=8:double
Friction            mu=1:double mu2=2:double
Surface             friction=1:Friction
Collision           id!=1:uint32 name!=2:string surface=7:Surface
Material            ambient=4:Color diffuse=5:Color specular=6:Color emissive=7:Color
Visual              name!=1:string parent_name!=3:string transparency=6:double \
                    material=10:Material visible=11:bool
Light               name!=1:string pose=3:Pose diffuse=4:Color specular=5:Color \
                    attenuation_constant=6:float attenuation_linear=7:float \
                    attenuation_quadratic=8:float direction=9:Vector3d range=10:float \
                    cast_shadows=11:bool
Scene               name!=1:string light*=9:Light
Link                id=1:uint32 name!=2:string inertial=8:Inertial pose=9:Pose \
                    collision*=11:Collision
Model               name!=1:string id=2:uint32 is_static=3:bool pose=4:Pose link*=6:Link \
                    model*=12:Model
Model_V             models*=2:Model
WorldReset          all=1:bool time_only=2:bool
WorldControl        pause=1:bool step=2:bool multi_step=3:uint32 reset=4:WorldReset seed=5:uint32
WorldStatistics     sim_time!=2:Time paused!=5:bool iterations!=6:uint64
Physics             gravity=11:Vector3d enable_physics=12:bool real_time_update_rate=14:double \
                    max_step_size=15:double
Wrench              force!=1:Vector3d torque!=2:Vector3d force_offset=3:Vector3d
Contact             collision1!=1:string collision2!=2:string position*=3:Vector3d \
                    normal*=4:Vector3d depth*=5:double time!=7:Time
Contacts            contact*=1:Contact time!=2:Time
LaserScan           frame!=1:string world_pose!=2:Pose angle_min!=3:double angle_max!=4:double \
                    angle_step!=5:double range_min!=6:double range_max!=7:double \
                    count!=8:uint32 ranges*=13:double
LaserScanStamped    time!=1:Time scan!=2:LaserScan
LogicalCameraImage  pose!=1:Pose
IMU                 stamp!=1:Time entity_name!=2:string orientation!=3:Quaternion \
                    angular_velocity!=4:Vector3d linear_acceleration!=5:Vector3d
"""

_FIELD = re.compile(r"(\w+)([!*]?)=(\d+):(\w+)")
_Field = descriptor_pb2.FieldDescriptorProto
_LABELS = {"": _Field.LABEL_OPTIONAL, "!": _Field.LABEL_REQUIRED, "*": _Field.LABEL_REPEATED}
_SCALARS = {
    kind: _Field.Type.Value(f"TYPE_{kind.upper()}")
    for kind in ("double", "float", "int32", "uint64", "uint32", "bool", "string", "bytes")
}


def _describe_messages() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(
        name="gz_testauto/gazebo_msgs.proto", package=PACKAGE, syntax="proto2"
    )
    for line in TABLE.replace("\\\n", " ").strip().splitlines():
        name, _, fields = line.partition(" ")
        message = file.message_type.add(name=name)
        for field, label, number, kind in _FIELD.findall(fields):
            entry = message.field.add(name=field, number=int(number), label=_LABELS[label])
            if kind in _SCALARS:
                entry.type = _SCALARS[kind]
            else:
                entry.type = _Field.TYPE_MESSAGE
                entry.type_name = f".{PACKAGE}.{kind}"
    return file


def _make_message_classes() -> Dict[str, Any]:
    pool = descriptor_pool.DescriptorPool()
    file = _describe_messages()
    pool.Add(file)
    if hasattr(message_factory, "GetMessageClass"):
        make_class = message_factory.GetMessageClass
    else:  # for protobuf before 4.22
        make_class = message_factory.MessageFactory(pool).GetPrototype
    return {
        message.name: make_class(pool.FindMessageTypeByName(f"{PACKAGE}.{message.name}"))
        for message in file.message_type
    }


# message classes by short name, e.g. ``MESSAGES["Pose"]``
MESSAGES: Dict[str, Any] = _make_message_classes()
