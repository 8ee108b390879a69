"""Run a trial in each of a random sample of Gazebo worlds of other projects.

CHECKOUTS has a directory per repository. Candidates are the files *.world, and *.sdf with a
<world>. Files with equal content count once, and files that match --exclude do not count. A seed
determines their order, of which the first --count are used, at most --most of one repository.

In each world the wheelchair starts at a free pose drawn from the seed, on ground if the world has
ground. It drives to a free position at a distance of 2 to 8 m, in a straight line if
possible. In a world that cannot be read or has no free position, it drives from 0, 0 to
3, 0. Two boxes are placed next to the path. `gz_testauto run` runs the campaign, and `gz_testauto
multiply` multiplies each world that could be run. Each is a separate process with --limit-s of CPU
time and ten times that of wall time. GAZEBO_MODEL_PATH, GAZEBO_RESOURCE_PATH and ROS_PACKAGE_PATH
contain the folders of the repository, and those of --collection.

--out receives a line of JSON per world with its result and the error message. The same command
continues an interrupted run. Use --only, --campaign and --collection to try the remedies of an
error message:

    python3 benchmarks/third_party_worlds.py ~/checkouts --out worlds.jsonl
    python3 benchmarks/third_party_worlds.py ~/checkouts --out repaired.jsonl --only hall.world \\
        --campaign '{"worlds": {"repair": true}}'
"""

import argparse
import hashlib
import importlib
import json
import math
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

import numpy as np
import shapely
import yaml
from example import obstacle_outlines

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.cli.main import main as gz_testauto
from gz_testauto.sdf.robot import read_robot
from gz_testauto.sdf.scene import read_scene
from gz_testauto.sdf.shapes import Plane
from gz_testauto.trial.clearance import footprint_at
from gz_testauto.worlds.static_map import bounds_of

EXCLUDED = (
    r"(?i)barn|mrpb|aws[-_]|amazon|robomaker|small_house|small_warehouse|bookstore|hospital|"
    r"racetrack|turtlebot3|pal_|arena[-_](rosnav|bench)|(^|/)\."
)
"""Regular expression over the names of collections that this project tests separately, and of
copies of them."""
CLEAR_M = 0.1
SURFACE_M = 0.05
NEAR_M, FAR_M = 2.0, 8.0
STARTS, GOALS = 300, 60
REACH_M = 40.0
PRELOADED = (
    "cli.run",
    "cli.multiply",
    "trial.lockstep",
    "planners.fgm",
    "simulators.embedded.simulator",
)


def draw_worlds(checkouts, count, most, seed, exclude):
    """Return all candidate worlds, and the drawn ones in random order."""
    found = {}
    for path in sorted(p for end in ("*.world", "*.sdf") for p in checkouts.rglob(end)):
        name = str(path.relative_to(checkouts))
        if not path.is_file() or re.search(exclude, name):
            continue
        text = path.read_bytes()
        if b"<world" in text or b"<gazebo:world" in text:
            found.setdefault(hashlib.sha256(text).hexdigest(), name)
    names = sorted(found.values())
    taken, of = [], {}
    for index in np.random.default_rng(seed).permutation(len(names)):
        repository = names[index].split("/")[0]
        if of.get(repository, 0) < most:
            of[repository] = of.get(repository, 0) + 1
            taken.append(names[index])
    return names, taken[:count]


def set_environment(repository, collections):
    """Set the search paths of models and files of the repository."""
    models = {path.parent.parent for path in repository.rglob("model.config")}
    folders = [repository, *sorted(path.parent for path in repository.rglob("package.xml"))]
    os.environ["GAZEBO_MODEL_PATH"] = os.pathsep.join(map(str, [*sorted(models), *collections]))
    os.environ["GAZEBO_RESOURCE_PATH"] = os.pathsep.join(map(str, [*folders, *collections]))
    os.environ["ROS_PACKAGE_PATH"] = str(repository)


def draw_mission(world, robot, generator, options):
    """Return the start and goal described in the docstring of this module, and whether both are
    free."""
    obstacles, floor, bounds = _ground(world, robot, options)
    outline = np.asarray(robot.footprint_m)

    def free(pose):
        covered = footprint_at(outline, pose).buffer(CLEAR_M)
        on_floor = floor is None or floor.contains(covered)
        return on_floor and not obstacles.intersects(covered)

    second = None
    for _ in range(STARTS):
        place = generator.uniform((*bounds[:2], -math.pi), (*bounds[2:], math.pi))
        x_m, y_m, yaw = place.tolist()
        if not free(Pose2D(x_m, y_m, yaw)):
            continue
        for _ in range(GOALS):
            far, angle = generator.uniform((NEAR_M, -math.pi), (FAR_M, math.pi)).tolist()
            goal = Pose2D(x_m + far * math.cos(angle), y_m + far * math.sin(angle), angle)
            start = Pose2D(x_m, y_m, angle)
            if not (free(goal) and free(start)):
                continue
            path = shapely.LineString([(x_m, y_m), (goal.x_m, goal.y_m)]).buffer(0.5)
            if not obstacles.intersects(path):
                return start, goal, True
            second = second or (start, goal, True)
    return second or (Pose2D(0.0, 0.0, 0.0), Pose2D(3.0, 0.0, 0.0), False)


def _ground(world, robot, options):
    """Return the obstacles, the area of the floor (None if it is unlimited), and the bounds of
    drawn positions."""
    scene = read_scene(world, **options)
    shapes = [shape for model in scene.models.values() for shape in model.collisions]
    obstacles = obstacle_outlines(shapes, robot)
    ground = [shape for shape in shapes if shape.is_ground]
    floor = None
    if not any(isinstance(shape.geometry, Plane) for shape in ground):
        floors = [s.footprint(-math.inf, math.inf) for s in ground]
        floors += [s.footprint(-SURFACE_M, SURFACE_M) for s in shapes if not s.is_ground]
        floor = shapely.union_all(floors)
    try:
        x_min, y_min, x_max, y_max = bounds_of(scene, 1.0)
    except GzTestautoError:
        x_min = y_min = -5.0
        x_max = y_max = 5.0
    if floor is not None and not floor.is_empty:
        x_min, y_min, x_max, y_max = floor.bounds
    low_m, high_m = max(x_min, -REACH_M), min(x_max, REACH_M)
    low_y, high_y = max(y_min, -REACH_M), min(y_max, REACH_M)
    if not (low_m < high_m and low_y < high_y):
        return obstacles, floor, (x_min, y_min, x_max, y_max)
    return obstacles, floor, (low_m - 1.0, low_y - 1.0, high_m + 1.0, high_y + 1.0)


def merge(campaign, more):
    """Return a campaign in which further parameters replace or extend the specified ones."""
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(campaign.get(key), dict):
            merge(campaign[key], value)
        else:
            campaign[key] = value
    return campaign


def campaign_of(world, start, goal, seed):
    """Return a campaign of one trial with two boxes."""
    x = sorted((start.x_m, goal.x_m))
    y = sorted((start.y_m, goal.y_m))
    return {
        "name": "third_party",
        "seed": seed,
        "worlds": {
            "base": str(world),
            "count": 1,
            "obstacles": {
                "obstacles": [
                    {"type": "box", "count": 2, "size_x_m": 0.3, "size_y_m": 0.3, "size_z_m": 0.8}
                ],
                "region": {"rectangle": {"x_m": [x[0] - 3, x[1] + 3], "y_m": [y[0] - 3, y[1] + 3]}},
                "keep_out": [
                    {"center": "start", "radius_m": 1.0},
                    {"center": "goal", "radius_m": 0.8},
                ],
            },
        },
        "robot": {
            "model": "package://gz_testauto/models/wheelchair/model.sdf",
            "start": {"x_m": start.x_m, "y_m": start.y_m, "yaw_rad": start.yaw_rad},
        },
        "goal": {"x_m": goal.x_m, "y_m": goal.y_m, "tolerance_m": 0.5},
        "planners": ["fgm"],
        "simulator": "embedded",
        "limits": {"timeout_s": 15.0, "stuck_window_s": 10.0, "max_attempts": 1},
    }


def run_world(world, seed, arguments, directory):
    """Draw a mission, run a campaign and multiply the world, in a child process. The result of each
    part is written to a file."""
    generator = np.random.default_rng(seed)
    robot = read_robot(share_directory() / "models" / "wheelchair")
    more = json.loads(arguments.campaign)
    options = {
        key: more.get("worlds", {})[key]
        for key in ("repair", "allow_missing")
        if key in more.get("worlds", {})
    }
    try:
        start, goal, free = draw_mission(world, robot, generator, options)
    except GzTestautoError as error:
        print(f"not drawn: {error}", file=sys.stderr)
        start, goal, free = Pose2D(0.0, 0.0, 0.0), Pose2D(3.0, 0.0, 0.0), False
    campaign = merge(campaign_of(world, start, goal, seed % 2**31), more)
    file = directory / "campaign.yaml"
    file.write_text(yaml.safe_dump(campaign, sort_keys=False))
    add_facts(directory, free=free, start=[start.x_m, start.y_m, start.yaw_rad])
    ran = run_verb(
        directory,
        "run",
        [str(file), "--out", str(directory / "out"), "--workers", "1", "--json", *arguments.run],
    )
    add_facts(directory, run=ran)
    if ran["status"] != 0:
        return
    spec = directory / "spec.yaml"
    obstacles = dict(campaign["worlds"]["obstacles"])
    obstacles["mission"] = {
        "start": [start.x_m, start.y_m],
        "goal": [goal.x_m, goal.y_m],
        "robot": campaign["robot"]["model"],
    }
    spec.write_text(yaml.safe_dump(obstacles, sort_keys=False))
    flags = ["--repair"] if options.get("repair") else []
    flags += [f for name in options.get("allow_missing", []) for f in ("--allow-missing", name)]
    add_facts(
        directory,
        multiply=run_verb(
            directory,
            "multiply",
            [
                str(world),
                "--spec",
                str(spec),
                "--count",
                "3",
                "--out",
                str(directory / "worlds"),
                *flags,
            ],
        ),
    )


def run_verb(directory, name, words):
    """Run one verb with its output in files; return its exit status."""
    saved = os.dup(1), os.dup(2)
    began = time.process_time()
    for descriptor, kind in ((1, "out"), (2, "err")):
        opened = os.open(directory / f"{name}.{kind}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(opened, descriptor)
        os.close(opened)
    try:
        status = gz_testauto([name, *words])
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
        status = "traceback"
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(saved[0], 1)
        os.dup2(saved[1], 2)
    return {"status": status, "cpu_s": round(time.process_time() - began, 1)}


def add_facts(directory, **facts):
    """Add facts to a file, so that they remain if the process is killed."""
    file = directory / "facts.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps({**known, **facts}))


def attempt(name, arguments):
    """Run a world in a limited child process, and return its result."""
    world = arguments.checkouts / name
    seed = int.from_bytes(hashlib.sha256(f"{arguments.seed} {name}".encode()).digest()[:4], "big")
    directory = Path(tempfile.mkdtemp(prefix="third-party-worlds-"))
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            limit = math.ceil(arguments.limit_s)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
            set_environment(arguments.checkouts / name.split("/")[0], arguments.collection)
            with open(directory / "child.err", "w") as log:
                os.dup2(log.fileno(), 2)
                run_world(world, seed, arguments, directory)
            os._exit(0)
        except BaseException:
            (directory / "crash.txt").write_text(traceback.format_exc())
            os._exit(70)
    status, usage = None, None
    while time.monotonic() - began < 10 * arguments.limit_s:
        done, status, usage = os.wait4(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.05)
    else:
        os.killpg(child, signal.SIGKILL)
        _, status, usage = os.wait4(child, 0)
    result = read_result(directory, status, usage, time.monotonic() - began)
    if not arguments.keep:
        shutil.rmtree(directory, ignore_errors=True)
    return {"world": name, **result}


def read_result(directory, status, usage, wall_s):
    """Return the result of the child process as one flat record."""
    facts = directory / "facts.json"
    record = json.loads(facts.read_text()) if facts.exists() else {}
    record.update(wall_s=round(wall_s, 1), cpu_s=round(usage.ru_utime + usage.ru_stime, 1))
    record["max_mb"] = usage.ru_maxrss // 1024
    texts = {}
    for kind in ("child.err", "run.err", "run.out", "multiply.err", "crash.txt"):
        file = directory / kind
        texts[kind] = file.read_text(errors="replace") if file.exists() else ""
    output = "\n".join(texts.values())
    if "Traceback (most" in output or texts["crash.txt"]:
        record["outcome"] = "traceback"
    elif os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        record["outcome"] = "cpu limit" if number == signal.SIGXCPU else f"signal {number}"
    elif record.get("run", {}).get("status") in (0, 1):
        trials = json.loads(texts["run.out"])["trials"] if texts["run.out"] else []
        record["outcome"] = ", ".join(t.get("outcome", "?") for t in trials)
        record["trials"] = trials
    else:
        record["outcome"] = "refused"
    for kind, limit in (
        ("child.err", 600),
        ("run.err", 4000),
        ("multiply.err", 1200),
        ("crash.txt", 4000),
    ):
        if texts[kind]:
            record[kind] = texts[kind][-limit:]
    return record


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--most", type=int, default=12)
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--exclude", default=EXCLUDED)
    parser.add_argument("--only", action="append", default=[], help="only these worlds, as drawn")
    parser.add_argument("--limit-s", type=float, default=120.0)
    parser.add_argument("--collection", type=Path, action="append", default=[])
    parser.add_argument("--campaign", default="{}", help="further parameters, as JSON")
    parser.add_argument("--run", action="append", default=[], help="further options of run")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--list", action="store_true", help="only draw")
    arguments = parser.parse_args()
    arguments.checkouts = arguments.checkouts.absolute()
    names, taken = draw_worlds(
        arguments.checkouts, arguments.count, arguments.most, arguments.seed, arguments.exclude
    )
    if arguments.only:
        taken = arguments.only
    for module in PRELOADED:  # once, not in every child
        importlib.import_module(f"gz_testauto.{module}")
    repositories = {name.split("/")[0] for name in names}
    print(f"{len(taken)} of {len(names)} worlds of {len(repositories)} repositories")
    if arguments.list:
        print("\n".join(taken))
        return
    done = set()
    if arguments.out.exists():
        done = {json.loads(line)["world"] for line in arguments.out.read_text().splitlines()}
    for index, name in enumerate(taken):
        if name in done:
            continue
        record = {"index": index, **attempt(name, arguments)}
        with arguments.out.open("a") as file:
            file.write(json.dumps(record) + "\n")
        print(index, name, record["outcome"], record["cpu_s"], record["wall_s"], flush=True)


if __name__ == "__main__":
    main()
