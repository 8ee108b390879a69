"""Join the points of moving objects to tracks."""

from typing import List, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.optimize import linear_sum_assignment

from gz_testauto.extras.field.evidence import MOVING, Evidence

JOIN_M = 0.35  # largest gap in the points of one object, such as between two legs
LEAST_POINTS = 3
GATE_M = 0.6  # largest distance from the predicted position
LOST_S = 1.0  # longest time without points
LEAST_S, LEAST_M = 0.8, 0.4  # least duration and motion of a track
MOST_RADIUS_M = 0.5
SMOOTH_S = 0.3
VELOCITY_S = 1.0  # time over which the last velocity is measured
CONTINUED_S = 3.0  # time after the recording in which an object remains


class SeenTrack(NamedTuple):
    """The positions (n, 2) of a moving object at the times (s), and its radius (m)."""

    times_s: np.ndarray
    points_m: np.ndarray
    radius_m: float

    def since(self, time_s: float) -> "SeenTrack":
        is_later = self.times_s >= time_s
        return self._replace(times_s=self.times_s[is_later], points_m=self.points_m[is_later])

    def continued(self, end_s: float) -> "SeenTrack":
        """Return the track with a further point, at its last velocity, if the object was in sight
        at the end of the recording, ``end_s``."""
        if end_s - self.times_s[-1] > LOST_S:
            return self
        first = min(
            int(np.searchsorted(self.times_s, self.times_s[-1] - VELOCITY_S)), len(self.times_s) - 2
        )
        moved_m = self.points_m[-1] - self.points_m[first]
        velocity_mps = moved_m / (self.times_s[-1] - self.times_s[first])
        return self._replace(
            times_s=np.append(self.times_s, self.times_s[-1] + CONTINUED_S),
            points_m=np.vstack([self.points_m, self.points_m[-1] + CONTINUED_S * velocity_mps]),
        )


class _Sighting(NamedTuple):
    time_s: float
    middle_m: np.ndarray
    toward_m: np.ndarray  # unit vector away from the sensor
    width_m: float


def find_tracks(evidence: Evidence, times_s: np.ndarray) -> List[SeenTrack]:
    """Return the tracks of moving objects, ordered by their first time. ``times_s`` are those of
    the scans."""
    active: List[List[_Sighting]] = []
    finished: List[List[_Sighting]] = []
    selected = evidence.kinds == MOVING
    points, scans = evidence.points_m[selected], evidence.scans[selected]
    origins = evidence.origins_m[selected]
    bounds = np.searchsorted(scans, np.arange(len(times_s) + 1))
    for scan, time_s in enumerate(times_s):
        of_scan = slice(bounds[scan], bounds[scan + 1])
        lost = [track for track in active if time_s - track[-1].time_s > LOST_S]
        finished += lost
        active = [track for track in active if time_s - track[-1].time_s <= LOST_S]
        sightings = _sightings(points[of_scan], origins[of_scan], float(time_s))
        free = set(range(len(sightings)))
        if active and sightings:
            predicted = np.array([_predicted(track, time_s) for track in active])
            seen = np.array([sighting.middle_m for sighting in sightings])
            distance = np.linalg.norm(predicted[:, None] - seen[None], axis=2)
            for row, column in zip(*linear_sum_assignment(np.minimum(distance, 2 * GATE_M))):
                if distance[row, column] <= GATE_M:
                    active[row].append(sightings[column])
                    free.discard(int(column))
        active += [[sightings[number]] for number in sorted(free)]
    tracks = [_track(sightings) for sightings in finished + active if len(sightings) >= 3]
    moving = [track for track in tracks if _moves(track)]
    return sorted(moving, key=lambda track: float(track.times_s[0]))


def _sightings(points: np.ndarray, origins: np.ndarray, time_s: float) -> List[_Sighting]:
    if len(points) < LEAST_POINTS:
        return []
    labels = fcluster(linkage(points), JOIN_M, criterion="distance")
    sightings = []
    for label in np.unique(labels):
        of_object = points[labels == label]
        if len(of_object) < LEAST_POINTS:
            continue
        away = of_object.mean(axis=0) - origins[0]
        away = away / max(float(np.hypot(*away)), 1e-9)
        across = of_object @ np.array([-away[1], away[0]])
        center = 0.5 * (across.min() + across.max())
        nearest = float(np.percentile(of_object @ away, 10))
        middle = nearest * away + center * np.array([-away[1], away[0]])
        sightings.append(_Sighting(time_s, middle, away, float(np.ptp(across))))
    return sightings


def _predicted(track: List[_Sighting], time_s: float) -> np.ndarray:
    last = track[-1]
    before = next((old for old in reversed(track) if last.time_s - old.time_s >= 0.4), track[0])
    elapsed_s = last.time_s - before.time_s
    if elapsed_s <= 0.0:
        return last.middle_m
    velocity = (last.middle_m - before.middle_m) / elapsed_s
    speed = float(np.hypot(*velocity))
    return last.middle_m + velocity * min(1.0, 3.0 / max(speed, 1e-9)) * (time_s - last.time_s)


def _track(sightings: List[_Sighting]) -> SeenTrack:
    times_s = np.array([sighting.time_s for sighting in sightings])
    widths = np.array([sighting.width_m for sighting in sightings])
    radius_m = min(0.5 * float(np.percentile(widths, 80)), MOST_RADIUS_M)
    centers = np.array([sighting.middle_m + radius_m * sighting.toward_m for sighting in sightings])
    near = np.exp(-0.5 * ((times_s[:, None] - times_s) / (0.5 * SMOOTH_S)) ** 2)
    return SeenTrack(times_s, near @ centers / near.sum(axis=1, keepdims=True), radius_m)


def _moves(track: SeenTrack) -> bool:
    extent_m = float(np.hypot(*np.ptp(track.points_m, axis=0)))
    return bool(track.times_s[-1] - track.times_s[0] >= LEAST_S and extent_m >= LEAST_M)
