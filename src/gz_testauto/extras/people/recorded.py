"""The behavior ``recorded``: people who move on recorded tracks, without reactions.

Contacts of their bodies are reported, but exert no force, so that people remain on their tracks.
"""

from typing import ClassVar, List, Optional, Sequence, Tuple, Union

import numpy as np
from pydantic import BeforeValidator, Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError
from typing_extensions import Annotated, Literal, override

from gz_testauto.actors.creation import NewActor
from gz_testauto.actors.hook import StepContext
from gz_testauto.actors.script import Script, Timetable
from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.extras.people.tracks import RecordedTrack, has_times, read_tracks
from gz_testauto.spec.actors import MOST_ACTORS, ActorSpec
from gz_testauto.spec.distributions import Distribution, Fixed, PositiveDistribution
from gz_testauto.spec.loader import SUBPATH
from gz_testauto.spec.model import Bounded, Positive, SpecPath, as_tuple, is_stored


class RecordedSpec(ActorSpec):
    """People on recorded tracks: one actor for each track. An actor appears with the first sample
    of its track, moves straight from sample to sample, and disappears with the last sample."""

    behavior: Literal["recorded"]
    tracks: SpecPath
    """A CSV or JSON file with the columns ``time,id,x,y`` or ``time,id,x,y,heading`` (s, m, rad,
    world frame), or a text file of ETH or UCY with ``frame id x y`` or ``frame id x z y vx vz
    vy``."""
    frame_rate_hz: Optional[Positive] = None
    """Frames per second of a text file."""
    scale: Positive = 1.0
    """Length (m) of one unit of x and y in the file."""
    start_s: Optional[Bounded] = None
    """Time (s) in the file at which the trial starts; null: 0, or the first frame of a text
    file."""
    max_speed_mps: Positive = 5.0
    """Speed (m/s) between two samples above which the file is rejected."""
    speed: PositiveDistribution = Fixed(value=1.0)
    """Factor by which all people move faster, drawn for each trial."""
    offset_m: Annotated[Tuple[Distribution, Distribution], BeforeValidator(as_tuple)] = (
        Fixed(value=0.0),
        Fixed(value=0.0),
    )
    """Shift (m) of all tracks along x and y, drawn for each trial."""
    mirror: Union[bool, Literal["random"]] = False
    """True if the tracks are mirrored along y, in the middle of their area. ``random`` is drawn
    for each trial."""
    subset: Optional[Annotated[int, Field(ge=1, le=MOST_ACTORS)]] = None
    """Number of tracks, which are drawn for each trial; null: all."""
    tags: Annotated[Tuple[str, ...], BeforeValidator(as_tuple)] = ("person",)
    """Labels by which the behaviors of other actors select this actor. The metrics of people use
    the label ``person``."""

    has_several_starts: ClassVar[bool] = True
    needs_free_path: ClassVar[bool] = False
    has_contact_forces: ClassVar[bool] = False

    @model_validator(mode="after")
    def _set_count(self, info: ValidationInfo) -> "RecordedSpec":
        if is_stored(info):  # its count is stored, too
            return self
        try:
            count = self._count_tracks()
        except SpecError as error:
            context = {SUBPATH: ("tracks",), "error": str(error)}
            raise PydanticCustomError("value_error", "", context) from error
        if "count" in self.model_fields_set and self.count != count:
            raise ValueError(
                f"{self.name} has count {self.count}, but {count} tracks; remove 'count', or set "
                "'subset'"
            )
        self.__dict__["count"] = count
        return self

    def _count_tracks(self) -> int:
        count = len(self._read())
        if self.subset is not None and self.subset > count:
            raise SpecError(
                f"{self.tracks}: the file has only {count} tracks in the trial; reduce 'subset'"
            )
        if self.subset is None and count > MOST_ACTORS:
            raise SpecError(
                f"{self.tracks}: the file has {count} tracks in the trial, more than "
                f"{MOST_ACTORS}; set 'leave_s' or 'subset'"
            )
        return count if self.subset is None else self.subset

    def _read(self) -> List[RecordedTrack]:
        """Return the tracks that can be present in the trial, with times (s) since its start."""
        tracks = read_tracks(self.tracks, self.frame_rate_hz, self.scale, self.max_speed_mps)
        zero_s = self.start_s
        if zero_s is None:
            zero_s = 0.0 if has_times(self.tracks) else min(track.time_s[0] for track in tracks)
        slowest, fastest = self.speed.support
        present_tracks = [
            RecordedTrack(track.id, track.time_s - zero_s, track.points_m, track.yaw_rad)
            for track in tracks
            if (track.time_s[-1] - zero_s) / slowest > self.appear_s
            and (self.leave_s is None or (track.time_s[0] - zero_s) / fastest < self.leave_s)
        ]
        if not present_tracks:
            raise SpecError(f"{self.tracks}: no track is in the time of the trial; set 'start_s'")
        return present_tracks

    @override
    def create(self, new: NewActor) -> Tuple["Recorded", Pose2D]:
        first = new.others.get(self.names[0])
        assert first is None or isinstance(first, Recorded)
        tracks = self._draw(new) if first is None else first.tracks
        actor = Recorded(new.name, self.tags, tracks, new.index)
        return actor, Pose2D(*actor.expected(np.array([actor.appear_s]))[0].tolist())

    def _draw(self, new: NewActor) -> Sequence[RecordedTrack]:
        """Return the tracks of a trial with drawn speed, offset, reflection and selection."""
        tracks = self._read()
        speed, *offset_m = (new.draw(value) for value in (self.speed, *self.offset_m))
        is_mirrored = new.random.random() < 0.5 if self.mirror == "random" else self.mirror
        y_m = np.concatenate([track.points_m[:, 1] for track in tracks])
        sign = -1.0 if is_mirrored else 1.0
        shift_m = np.array(offset_m)
        if is_mirrored:
            shift_m[1] += y_m.min() + y_m.max()
        if self.subset is not None:
            chosen = new.random.choice(len(tracks), self.subset, replace=False)
            tracks = [tracks[index] for index in sorted(chosen.tolist())]
        return [
            RecordedTrack(
                track.id,
                track.time_s / speed,
                track.points_m * (1.0, sign) + shift_m,
                None if track.yaw_rad is None else sign * track.yaw_rad,
            )
            for track in tracks
        ]


class Recorded(Script):
    """A person on the track with the number ``index`` of ``tracks``, the tracks of a trial."""

    def __init__(
        self, name: str, tags: Sequence[str], tracks: Sequence[RecordedTrack], index: int
    ) -> None:
        self.tracks, self._track = tracks, tracks[index]
        times_s = self._track.time_s
        timetable = Timetable.of_times(self._track.points_m, times_s - times_s[0])
        super().__init__(name, tags, timetable)
        self.appear_s, self.leave_s = max(0.0, float(times_s[0])), float(times_s[-1])

    @property
    @override
    def activity(self) -> str:
        return f"recorded, track {self._track.id}"

    @override
    def expected(self, times_s: np.ndarray) -> np.ndarray:
        track, since_start_s = self._track, np.asarray(times_s) - (self.trial_start_s or 0.0)
        poses = self.timetable.at(since_start_s - track.time_s[0])
        if track.yaw_rad is not None:
            poses[:, 2] = np.interp(since_start_s, track.time_s, track.yaw_rad)
        return poses

    @override
    def appear(self, entrance: Pose, context: StepContext) -> None:
        """Spawn the actor at its place on the track, also if another model is there."""
        start = Pose2D(*self.expected(np.array([context.time_s]))[0].tolist())
        self.pose, self.entrance = start.to_pose(entrance.position[2]), None
        self.spawn(self.pose)
        self.act(context)
