"""Reading and validation of recordings from files."""

from decimal import Decimal
from pathlib import Path
from typing import Any, Dict, List, Mapping, Sequence, Tuple, Union

import numpy as np

from gz_testauto.base.errors import ResultsError
from gz_testauto.extras.simulator_comparison.recordings.bag_file import is_bag, read_topics, yaw_of
from gz_testauto.extras.simulator_comparison.recordings.csv_file import (
    as_series,
    column_names,
    read_columns,
)
from gz_testauto.extras.simulator_comparison.recordings.plausible import (
    GRAVITY_MPS2,
    check_plausible,
)
from gz_testauto.extras.simulator_comparison.recordings.recording import (
    RunRecording,
    check_gaps,
    is_complete,
    sort_samples,
)
from gz_testauto.extras.simulator_comparison.recordings.spec import (
    ANGLE_UNITS,
    ANGULAR_UNITS,
    LINEAR_UNITS,
    TIME_UNITS,
    CommandSpec,
    ImuSpec,
    OdometryColumns,
    OdometrySpec,
    RecordingSpec,
    WheelSpec,
)

Channel = Union[ImuSpec, OdometrySpec, WheelSpec, CommandSpec]
Raw = Tuple[List[Decimal], float, np.ndarray]  # stamps, their unit in seconds, and values


def read_recordings(spec: RecordingSpec) -> Dict[str, Tuple[RunRecording, ...]]:
    """Return the recordings of each case. Raises ``ResultsError`` if they are not plausible."""
    by_case = {}
    for case, repetitions in spec.cases.items():
        every = [run for files in repetitions for run in read_repetitions(spec, files)]
        if spec.segment_s is not None and len(every) > spec.max_segments:
            spread = np.linspace(0, len(every) - 1, spec.max_segments).round().astype(int)
            every = [every[number] for number in spread]
        by_case[case] = tuple(every)
    return by_case


def read_repetitions(
    spec: RecordingSpec, files: Union[Path, Mapping[Any, Path]]
) -> Tuple[RunRecording, ...]:
    """Return the recording in these files, or its segments if ``spec.segment_s`` is specified.
    Raises ``ResultsError`` if the recording is not plausible."""
    recording = _read_recording(spec, files)
    if spec.segment_s is None:
        check_gaps(recording)
        check_plausible(recording)
        return (recording,)
    check_plausible(recording)
    return _split_into_segments(recording, spec.segment_s)


def _split_into_segments(recording: RunRecording, length_s: float) -> Tuple[RunRecording, ...]:
    count = int(recording.duration_s / length_s + 1e-6)
    segments = []
    for number in range(count):
        begin, end = number * length_s, (number + 1) * length_s
        needed = (recording.imu, recording.odometry)
        if all(is_complete(series, begin, end) for series in needed if series is not None):
            segment = recording.between(begin, end)
            source = f"{recording.source} from {begin:g} s"
            segments.append(RunRecording.of(source, segment.channels))
    if not segments:
        raise ResultsError(
            f"{recording.source}: the recording lasts {recording.duration_s:.3g} s and contains no "
            f"segment of {length_s:g} s without a loss of data; reduce 'segment_s'"
        )
    return tuple(segments)


def _read_recording(spec: RecordingSpec, files: Union[Path, Mapping[Any, Path]]) -> RunRecording:
    channels = dict(spec.channels)
    if isinstance(files, Path):
        if "odometry" not in channels and _has_odometry(files):
            channels["odometry"] = OdometrySpec()
        files = dict.fromkeys(channels, files)
    named = dict(files)
    for name in named.keys() - channels.keys():
        raise ResultsError(
            f"{named[name]}: a case names this file for the channel {name!r}, but the recordings "
            f"do not have this channel; add the key {name!r}, such as {name}: {{}}"
        )
    source = str(named.get("imu", next(iter(named.values()))))
    raw: Dict[str, Raw] = {}
    for path in dict.fromkeys(named.values()):
        channels_of_file = {name: channels[name] for name in named if named[name] == path}
        raw.update(
            _read_bag_channels(path, channels_of_file)
            if is_bag(path)
            else _read_csv_channels(path, channels_of_file)
        )
    zero = min(stamps[0] * Decimal(repr(unit)) for stamps, unit, _ in raw.values() if stamps)
    series = {}
    for name, (stamps, unit, values) in raw.items():
        channel = channels[name]
        values = _convert_to_si(channel, values)
        series[name] = sort_samples(as_series(stamps, unit, values, zero / Decimal(repr(unit))))
    return RunRecording.of(source, series).common_interval()


def _has_odometry(path: Path) -> bool:
    names = OdometryColumns()
    required = {names.time, names.x, names.y, names.yaw}
    return not is_bag(path) and required.issubset(column_names(path))


def _read_bag_channels(path: Path, channels: Mapping[str, Channel]) -> Dict[str, Raw]:
    topics = {}
    for name, channel in channels.items():
        if channel.topic is None:
            raise ResultsError(f"{path}: the file is a rosbag; specify the key '{name}.topic'")
        topics[name] = channel.topic
    wheels = channels.get("wheels")
    joints: Sequence[str] = ()
    if isinstance(wheels, WheelSpec):
        joints = wheels.joints or ()
        if wheels.radius_m is None:
            raise ResultsError(
                f"{path}: joint velocities are in rad/s; specify 'wheels.radius_m' to convert them "
                "to m/s"
            )
    return {
        name: (stamps, 1.0, values)
        for name, (stamps, values) in read_topics(path, topics, joints).items()
    }


def _read_csv_channels(path: Path, channels: Mapping[str, Channel]) -> Dict[str, Raw]:
    raw = {}
    for name, channel in channels.items():
        columns: Sequence[str]
        if isinstance(channel, ImuSpec):
            imu_columns = channel.columns
            time, columns, unit = (
                imu_columns.time,
                (*imu_columns.angular, *imu_columns.linear),
                channel.units.time,
            )
        elif isinstance(channel, OdometrySpec):
            time, unit = channel.columns.time, channel.units.time
            named = channel.columns
            columns = (named.x, named.y, *(named.quaternion or (named.yaw,)))
        elif isinstance(channel, WheelSpec):
            time, unit = channel.columns.time, channel.time
            columns = (channel.columns.left, channel.columns.right)
        else:
            time, unit = channel.columns.time, channel.time
            columns = (channel.columns.linear, channel.columns.angular)
        stamps, values = read_columns(path, time, columns)
        if not stamps:
            raise ResultsError(
                f"{path}: the file has a heading but no samples; specify another file"
            )
        raw[name] = (stamps, TIME_UNITS[unit], values)
    return raw


def _convert_to_si(channel: Channel, values: np.ndarray) -> np.ndarray:
    """Return values in SI units and the robot's axes."""
    if isinstance(channel, ImuSpec):
        angular = values[:, :3] * ANGULAR_UNITS[channel.units.angular] @ channel.turn.T
        linear = values[:, 3:] * LINEAR_UNITS[channel.units.linear] @ channel.turn.T
        if channel.gravity == "opposite":
            linear = -linear
        elif channel.gravity == "subtracted":
            linear = linear + np.array([0.0, 0.0, GRAVITY_MPS2])
        return np.column_stack([angular, linear])
    if isinstance(channel, OdometrySpec):
        if values.shape[1] == len(("x", "y", "qx", "qy", "qz", "qw")):
            return np.column_stack([values[:, :2], yaw_of(*values[:, 2:].T)])
        return values * np.array([1.0, 1.0, ANGLE_UNITS[channel.units.angle]])
    if isinstance(channel, WheelSpec) and channel.radius_m is not None:
        return values * channel.radius_m
    return values
