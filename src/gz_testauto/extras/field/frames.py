"""Poses of frames over time from the transforms of a bag."""

from array import array
from pathlib import Path
from typing import Dict, List, NamedTuple, Sequence, Tuple

import numpy as np
from scipy.spatial.transform import Rotation, Slerp

from gz_testauto.base.errors import ResultsError
from gz_testauto.base.pose import Pose2D

COLUMNS = 9  # of a sample: time of recording and stamp (s), position (m), quaternion (xyzw)
FARTHEST_M = 1e6  # faulty odometry contains larger positions
AROUND_S = 5.0  # time of recording around a window whose samples are used


class FramePoses(NamedTuple):
    """Poses of a frame at n times: positions (n, 3) in m, rotations, and for each time the distance
    (s) between the samples before and after it."""

    positions_m: np.ndarray
    rotations: Rotation
    gaps_s: np.ndarray


class Transforms:
    """The transforms of a bag, with one parent for each frame."""

    def __init__(self, source: Path) -> None:
        self._source = source
        self.base = "base_link"
        """The frame of the robot in the odometry."""
        self._parents: Dict[str, str] = {}
        self._samples: Dict[str, array[float]] = {}
        self._static: Dict[str, bool] = {}

    def add(self, parent: str, child: str, sample: Sequence[float], is_static: bool) -> None:
        """Add a sample with :data:`COLUMNS` values."""
        child = child.strip("/")
        self._parents[child] = parent.strip("/")
        self._samples.setdefault(child, array("d")).extend(sample)
        self._static[child] = is_static

    def complete(
        self,
        odometry_frames: Tuple[str, str],
        odometry: "array[float]",
        map_frame: str,
        estimates: "array[float]",
    ) -> None:
        """Set :attr:`base`, and add the transforms of odometry and localizer that tf lacks.
        ``odometry`` and ``estimates`` are samples of the pose of the base, from the topics."""
        odom, base = (frame.strip("/") for frame in odometry_frames)
        self.base = base
        if base not in self._parents and odometry:
            self._parents[base], self._static[base] = odom, False
            self._samples[base] = odometry
        odom = self._parents.get(base, odom)
        if odom in self._parents or not estimates or base not in self._parents:
            return
        rows = np.array(estimates).reshape(-1, COLUMNS)
        of_base = self._edge(base, rows[:, 1], rows[:, 0].min(), rows[:, 0].max(), False)
        turns = Rotation.from_quat(rows[:, 5:]) * of_base.rotations.inv()
        rows[:, 2:5] -= turns.apply(of_base.positions_m)
        rows[:, 5:] = turns.as_quat()
        self._parents[odom], self._static[odom] = map_frame, False
        self._samples[odom] = array("d", rows.ravel())

    def place(self, frame: str, parent: str, pose: Pose2D) -> None:
        """Set the constant pose of ``frame`` in ``parent``, which replaces its present parent."""
        position, quaternion = pose.to_pose().position, pose.to_pose().quaternion
        self._samples.pop(frame, None)
        self.add(parent, frame, (0.0, 0.0, *position, *quaternion), is_static=True)

    def root(self, frame: str) -> str:
        while frame in self._parents:
            frame = self._parents[frame]
        return frame

    def is_static(self, frame: str) -> bool:
        return self._static[frame]

    def chain(self, frame: str, ancestor: str) -> List[str]:
        """Return the frames from ``frame`` up to a child of ``ancestor``. Raises ``ResultsError``
        if tf does not connect them."""
        frames = [frame]
        while frames[-1] != ancestor:
            parent = self._parents.get(frames[-1])
            if parent is None or parent in frames:
                known = sorted({*self._parents, *self._parents.values()})
                raise ResultsError(
                    f"{self._source}: tf does not connect the frame {frame!r} to {ancestor!r}: "
                    f"{frames[-1]!r} has no parent; the frames are {', '.join(known) or 'none'}. "
                    "Specify the pose of the lidar with --mount, and without a localizer the first "
                    "pose of the robot with --start"
                )
            frames.append(parent)
        return frames[:-1]

    def poses(
        self, frame: str, ancestor: str, times_s: np.ndarray, window_s: Tuple[float, float]
    ) -> FramePoses:
        """Return the poses of ``frame`` in ``ancestor`` at the stamps ``times_s``. Only samples
        recorded near ``window_s`` are used, since stamps are ambiguous if a clock jumps elsewhere
        in the bag. Raises ``ResultsError`` if there is no sample."""
        low_s, high_s = window_s[0] - AROUND_S, window_s[1] + AROUND_S
        count = len(times_s)
        positions, rotations = np.zeros((count, 3)), Rotation.identity(count)
        gaps_s = np.zeros(count)
        frames = self.chain(frame, ancestor)
        for child in frames:
            # a localizer moves the frame of the odometry in steps, so it is not interpolated
            is_correction = child == frames[-1] != frame
            edge = self._edge(child, times_s, low_s, high_s, is_correction)
            positions = edge.rotations.apply(positions) + edge.positions_m
            rotations = edge.rotations * rotations
            gaps_s = np.maximum(gaps_s, edge.gaps_s)
        return FramePoses(positions, rotations, gaps_s)

    def _edge(
        self, child: str, times_s: np.ndarray, low_s: float, high_s: float, holds: bool
    ) -> FramePoses:
        rows = np.array(self._samples[child]).reshape(-1, COLUMNS)
        count = len(times_s)
        if not self._static[child]:
            rows = rows[(rows[:, 0] >= low_s) & (rows[:, 0] <= high_s)]
        _, index = np.unique(rows[:, 1], return_index=True)
        rows = rows[index]
        norms = np.linalg.norm(rows[:, 5:], axis=1)
        # stamps are not checked: they can be of any time if another bag was played meanwhile
        is_valid = (np.abs(rows[:, 2:]) < FARTHEST_M).all(axis=1) & (norms > 0.5)  # without NaN
        rows = rows[is_valid]
        if not len(rows):
            raise ResultsError(
                f"{self._source}: tf has no valid transform of the frame {child!r} from "
                f"{low_s:.1f} to {high_s:.1f} s; select another window with --from and --to"
            )
        if self._static[child] or len(rows) == 1:
            last = rows[-1]
            rotations = Rotation.from_quat(np.tile(last[5:], (count, 1)))
            return FramePoses(np.tile(last[2:5], (count, 1)), rotations, np.zeros(count))
        stamps = rows[:, 1]
        after = np.clip(np.searchsorted(stamps, times_s), 1, len(stamps) - 1)
        inside = np.clip(times_s, stamps[0], stamps[-1])
        gaps_s = stamps[after] - stamps[after - 1] + 2 * np.abs(times_s - inside)
        if holds:
            latest = np.clip(np.searchsorted(stamps, times_s + 1e-6, side="right") - 1, 0, None)
            quaternions = rows[latest, 5:]
            return FramePoses(rows[latest, 2:5], Rotation.from_quat(quaternions), np.zeros(count))
        positions = np.column_stack([np.interp(inside, stamps, rows[:, 2 + i]) for i in range(3)])
        return FramePoses(positions, Slerp(stamps, Rotation.from_quat(rows[:, 5:]))(inside), gaps_s)
