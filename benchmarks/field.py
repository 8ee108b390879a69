"""Compare worlds built from bags of simulated trials with the worlds of these trials.

    ./bootstrap exec python3 benchmarks/field.py CAMPAIGN [--perturb 10] [--perturbed all]
                          [--record-in gazebo] [--run-in gazebo] [--worlds 3:9]

Each trial is written to a bag, and its world and its moving people are built from the bag. The
trials are recorded, and the built worlds run, in the simulator of the campaign unless --record-in
or --run-in names another one. Printed are the outcomes in both worlds, in the built one with exact
poses; whether the outcome is the same in the true world with exact poses, and in the built world
with the localization errors of the bag; the number of N repeats with small changes, by default of
failed trials, that are the same, as by ``perturb``; the error of the refined poses (mean and
largest, cm); the share of static returns that the world repeats within 5 cm (%); the numbers of
obstacles, and of those that are not in the true world; the 95th percentile of the distance of seen
surfaces from true ones (cm); and for each track the error (RMS, m) and the duration.
"""

import argparse
import contextlib
import itertools
import tempfile
from pathlib import Path

import numpy as np
import shapely

from gz_testauto.base.errors import ResultsError
from gz_testauto.campaign.campaign_files import read_campaign_spec
from gz_testauto.campaign.simulator import start_simulator
from gz_testauto.campaign.trial_runner import TrialRunner
from gz_testauto.extras.field.bag_file import BagExecutor
from gz_testauto.extras.field.evidence import STATIC
from gz_testauto.extras.field.files import write_files
from gz_testauto.extras.field.reconstruction import map_of_bag, part_outline, reconstruct
from gz_testauto.extras.field.topics import open_bag
from gz_testauto.extras.field.window import Window
from gz_testauto.extras.search.perturbation import Perturbation
from gz_testauto.metrics.recording import ACTOR_SERIES
from gz_testauto.sampling.naming import is_obstacle
from gz_testauto.sdf.scene import read_scene
from gz_testauto.trial.failure_place import is_same_place, place_of
from gz_testauto.trial.trial import Trial

LIDAR_M = (0.45, 0.6)  # heights at which obstacles are compared
NEAR_M = 0.1  # distance from a fitted surface within which its points are


def rebuild(path):
    with open_bag(path, {"scan": None, "odom": None, "map-topic": None}) as bag:
        content = bag.read_content()
        window = Window(0.0, content.duration_s, content.goals[-1], "all")
        scans = bag.read_scans(0.0, content.duration_s)
    return reconstruct(path, content, scans, window, map_of_bag(path, content, None))


def compare_world(rebuilt, world, recording):
    """Return the printed values that compare a world with the true one."""
    models = read_scene(world).models.items()
    shapes = [model.obstacle_footprint(*LIDAR_M) for name, model in models if is_obstacle(name)]
    true = shapely.union_all(shapes)
    times_s = rebuilt.scans.times_s
    errors_m = np.hypot(
        *(
            rebuilt.poses[:, axis] - np.interp(times_s, recording.time_s, recording.pose[:, axis])
            for axis in range(2)
        )
    )
    outlines = [
        shapely.union_all([part_outline(part) for part in seen.parts]) for seen in rebuilt.obstacles
    ]
    invented = sum(true.is_empty or outline.distance(true) > NEAR_M for outline in outlines)
    surfaces = shapely.union_all([outline.boundary for outline in outlines])
    points = shapely.points(rebuilt.evidence.points_m[rebuilt.evidence.kinds == STATIC][::50])
    off_m = [0.0]
    if outlines:
        points = points[shapely.distance(points, surfaces) < NEAR_M]
        nearest = shapely.line_interpolate_point(
            surfaces, shapely.line_locate_point(surfaces, points)
        )
        off_m = shapely.distance(nearest, true.boundary)
    return (
        f"poses {100 * errors_m.mean():.1f} {100 * errors_m.max():.1f}; repeated "
        f"{100 * rebuilt.explained_share:.1f}; obstacles {len(outlines)}, {invented} invented; "
        f"surfaces {100 * np.percentile(off_m, 95):.1f}; tracks {track_errors(rebuilt, recording)}"
    )


def track_errors(rebuilt, recording):
    names = [name for name in recording.series if name.startswith(ACTOR_SERIES)]
    texts = []
    for track in rebuilt.tracks:
        errors_m = [np.inf]
        for name in names:
            series = recording.series[name]
            offsets = [
                np.interp(track.times_s, recording.time_s, series[:, axis]) - values
                for axis, values in enumerate(track.points_m.T)
            ]
            errors_m.append(float(np.sqrt((np.hypot(*offsets) ** 2).mean())))
        texts.append(f"{min(errors_m):.2f} ({np.ptp(track.times_s):.0f} s)")
    return ", ".join(texts) or "none"


def is_same(first, second):
    if first.outcome is not second.outcome or first.outcome.success:
        return first.outcome is second.outcome
    places_m = (place_of(trial.outcome, trial.recording) for trial in (first, second))
    return is_same_place(first.outcome, *places_m)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("campaign", type=Path)
    parser.add_argument("--perturb", type=int, default=0, metavar="N")
    parser.add_argument("--perturbed", choices=("all", "failed"), default="failed")
    parser.add_argument("--record-in", default="", metavar="SIMULATOR")
    parser.add_argument("--run-in", default="", metavar="SIMULATOR")
    parser.add_argument("--worlds", default=":", metavar="FIRST:LAST")
    arguments = parser.parse_args()
    worlds = slice(*(int(text) if text else None for text in arguments.worlds.split(":")))
    spec = read_campaign_spec(arguments.campaign)
    plain = spec.model_copy(update={"localization": None})
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        runner = stack.enter_context(TrialRunner(spec, arguments.record_in))
        true = stack.enter_context(TrialRunner(plain))
        perturbation = stack.enter_context(contextlib.closing(Perturbation(spec)))
        bag = folder / "trial.bag"
        runner._executor = BagExecutor(runner._bed, start_simulator, bag)
        runner._executor.open()
        for world, planner in itertools.product(runner.worlds[worlds], spec.planners):
            trial = runner.run(world, planner.name)
            task = Trial(world, runner._missions.of(world.name), planner, trial.numbers)
            is_repeated = trial.failed or arguments.perturbed == "all"
            count = arguments.perturb if is_repeated else 0
            repeats = [perturbation.run(task, number) for number in range(count)]
            same = sum(other is not None and is_same(trial, other) for other in repeats)
            try:
                rebuilt = rebuild(bag)
            except ResultsError as error:
                print(f"{world.name} {planner.name}: rejected: {error}", flush=True)
                continue
            out = Path(tempfile.mkdtemp(dir=str(folder)))
            files = write_files(rebuilt, bag.name, out, f"model: {spec.robot.model}", (1.0, 1.5))
            poses = {"start": rebuilt.start, "goals": [rebuilt.goal]}
            actors = read_campaign_spec(files.campaign).actors
            built = plain.model_copy(update={"actors": actors})
            with TrialRunner(built, arguments.run_in) as again:
                repeat = again.run(files.world.read_bytes(), planner.name, **poses)
            exact = true.run(world.path.read_bytes(), planner.name, **poses)
            errors = read_campaign_spec(files.campaign).localization
            localized = built.model_copy(update={"localization": errors})
            with TrialRunner(localized, arguments.run_in) as runner_with_errors:
                third = runner_with_errors.run(files.world.read_bytes(), planner.name, **poses)
            others = (repeat, exact, third)
            verdicts = ["same" if is_same(trial, other) else "other" for other in others]
            print(
                f"{world.name} {planner.name}: {trial.outcome.value} -> {repeat.outcome.value}, "
                f"{verdicts[0]}; exact poses {verdicts[1]}; errors {verdicts[2]}; "
                f"{same} of {len(repeats)} repeats; "
                + compare_world(rebuilt, world.path, trial.recording),
                flush=True,
            )


if __name__ == "__main__":
    main()
