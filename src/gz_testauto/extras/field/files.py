"""Write the world, the tracks and the campaign of a reconstruction."""

import csv
import io
import json
import math
import re
from pathlib import Path
from typing import List, NamedTuple

import numpy as np

from gz_testauto.base.disk import disk_errors, make_directory, write_new_files
from gz_testauto.extras.field.obstacles import HEIGHT_M, Seen, SolidPart
from gz_testauto.extras.field.reconstruction import Reconstruction
from gz_testauto.grid.occupancy import rectangles_of
from gz_testauto.worlds.map_walls import world_text

WALL_HEIGHT_M = 2.0
TOLERANCE_M = 0.3
LEAST_MPS, LEAST_RADPS = 0.1, 0.3

_MODEL = """    <model name="{name}">
      <static>true</static>
      <link name="link">
{parts}
      </link>
    </model>
"""
_PART = """        <{kind} name="{kind}_{number}">
          <pose>{x!r} {y!r} {z!r} 0 0 {yaw!r}</pose>
          <geometry>{geometry}</geometry>{more}
        </{kind}>"""
_MATERIAL = "\n          <material><diffuse>0.8 0.5 0.3 1</diffuse></material>"

_CAMPAIGN = """\
# The world that the robot saw in {source} from {from_s:.1f} to {to_s:.1f} s: {reason}.
# Lidar of the bag: {rays} rays, {low_m:g} to {high_m:g} m, {rate_hz:.1f} Hz.

name: {name}
seed: 1

worlds:
  directory: .
  files:
    - file: {world}
{recorded_end}{obstacle_names}
robot:
  {robot}
  start: {{x_m: {start[0]:.3f}, y_m: {start[1]:.3f}, yaw_rad: {start[2]:.4f}}}
  max_linear_mps: {linear:g}
  max_angular_radps: {angular:g}

goal: {{x_m: {goal[0]:.3f}, y_m: {goal[1]:.3f}, tolerance_m: {tolerance:g}}}

planners: [dwa]                          # replace by the planner that failed, or by your stack

randomize:
  - {{name: noise, term: scan_noise, set: {noise:.4f}}}
{localization}{actors}
limits: {{timeout_s: {timeout_s:.0f}}}
"""
_RECORDED_END = """\
      recorded_end: {{x_m: {x_m:.3f}, y_m: {y_m:.3f}, result: {result}}}
"""
_OBSTACLE_NAMES = """\
  obstacle_names: "seen_[0-9]+"          # not in the static map
"""
_LOCALIZATION = """
# The errors of the poses in the bag, {position_m:.3f} m and {yaw_rad:.4f} rad (RMS).
localization: {{estimate: recorded, errors: {file}}}   # remove for exact poses
"""
_ACTORS = """
actors:
  - {{name: moving, behavior: recorded, tracks: {tracks}}}
"""


class Files(NamedTuple):
    world: Path
    campaign: Path
    tracks: Path
    errors: Path
    page: Path


def write_files(
    rebuilt: Reconstruction, source: str, out: Path, robot: str, limits: "tuple[float, float]"
) -> Files:
    """Write all files except the page. ``robot`` are keys of the campaign as YAML. ``limits`` are
    the largest linear (m/s) and angular (rad/s) velocity. Raises ``DiskError``."""
    stem = re.sub(r"[^A-Za-z0-9_]", "_", Path(source).stem)
    files = Files(
        out / f"{stem}.world",
        out / "campaign.yaml",
        out / "tracks.csv",
        out / "localization_errors.csv",
        out / "reconstruction.html",
    )
    walls = sorted(rectangles_of(rebuilt.map_file.occupied))
    text = world_text(rebuilt.map_file, walls, WALL_HEIGHT_M, source)
    models = "".join(map(_model, rebuilt.obstacles))
    text = text.replace("  </world>", models + "  </world>")
    times_s = rebuilt.scans.times_s
    campaign = _CAMPAIGN.format(
        source=source.replace("\n", " "),
        from_s=rebuilt.window.from_s,
        to_s=rebuilt.window.to_s,
        reason=rebuilt.window.reason,
        rays=len(rebuilt.scans.angles_rad),
        low_m=round(rebuilt.scans.range_min_m, 3),
        high_m=round(rebuilt.scans.range_max_m, 3),
        rate_hz=1.0 / float(np.median(np.diff(times_s))),
        name=f"field_{stem}",
        world=json.dumps(files.world.name),
        recorded_end=_recorded_end(rebuilt),
        obstacle_names=_OBSTACLE_NAMES if rebuilt.obstacles else "",
        robot=robot,
        start=rebuilt.start,
        goal=rebuilt.goal,
        tolerance=TOLERANCE_M,
        linear=max(limits[0], LEAST_MPS),
        angular=max(limits[1], LEAST_RADPS),
        noise=rebuilt.noise_m,
        localization=_localization(rebuilt, files.errors.name),
        actors=_ACTORS.format(tracks=files.tracks.name) if rebuilt.tracks else "",
        timeout_s=max(60.0, 2.0 * float(times_s[-1] - rebuilt.start_s)),
    )
    with disk_errors(out):
        make_directory(out)
        contents = {files.world: text, files.campaign: campaign}
        if rebuilt.tracks:
            contents[files.tracks] = _tracks_text(rebuilt)
        if rebuilt.has_localizer:
            contents[files.errors] = _errors_text(rebuilt)
        write_new_files({path: content.encode("utf-8") for path, content in contents.items()})
    return files


def _recorded_end(rebuilt: Reconstruction) -> str:
    """Return the line of the place at which the goal failed, or "" if the window has none."""
    window = rebuilt.window
    if not window.result:
        return ""
    scan = max(int(np.searchsorted(rebuilt.scans.times_s, window.failed_s, side="right")) - 1, 0)
    x_m, y_m, _ = rebuilt.poses[scan].tolist()
    return _RECORDED_END.format(x_m=x_m, y_m=y_m, result=json.dumps(window.result))


def _localization(rebuilt: Reconstruction, file: str) -> str:
    if not rebuilt.has_localizer:
        return ""
    mean_squares = np.square(rebuilt.localization_errors[:, 1:]).mean(axis=0)
    x_m, y_m, yaw_rad = np.sqrt(mean_squares).tolist()
    return _LOCALIZATION.format(position_m=math.hypot(x_m, y_m), yaw_rad=yaw_rad, file=file)


def _tracks_text(rebuilt: Reconstruction) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["time", "id", "x", "y"])
    end_s = float(rebuilt.scans.times_s[-1])
    # Without a continuation, an object would disappear in front of the robot.
    for number, track in enumerate(track.continued(end_s) for track in rebuilt.tracks):
        for time_s, (x_m, y_m) in zip(track.times_s - rebuilt.start_s, track.points_m):
            writer.writerow([f"{time_s:.3f}", number, f"{x_m:.3f}", f"{y_m:.3f}"])
    return stream.getvalue()


def _errors_text(rebuilt: Reconstruction) -> str:
    rows = [",".join(f"{value:.4f}" for value in row) for row in rebuilt.localization_errors]
    return "\n".join(["time,x,y,yaw", *rows, ""])


def _model(seen: Seen) -> str:
    parts: List[str] = []
    for number, part in enumerate(seen.parts):
        for kind, more in (("collision", ""), ("visual", _MATERIAL)):
            parts.append(
                _PART.format(
                    kind=kind,
                    number=number,
                    x=round(part.x_m, 4),
                    y=round(part.y_m, 4),
                    z=HEIGHT_M / 2,
                    yaw=round(part.yaw_rad, 5),
                    geometry=_geometry(part),
                    more=more,
                )
            )
    return _MODEL.format(name=seen.name, parts="\n".join(parts))


def _geometry(part: SolidPart) -> str:
    if part.radius_m:
        size = f"<radius>{part.radius_m:.4f}</radius><length>{HEIGHT_M}</length>"
        return f"<cylinder>{size}</cylinder>"
    x_m, y_m = part.sides_m
    return f"<box><size>{x_m:.4f} {y_m:.4f} {HEIGHT_M}</size></box>"
