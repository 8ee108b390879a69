"""Create worlds of eight scenarios for many seeds, check their files, and time the drawing.

The claims: no world has a fault in names, files, penetration (under 1 mm), workspace, support and
mission (``test/extras/scenic/output_check.py`` reads only the output folders). A scene of 30 × 30 m
with 16 objects takes a median under 0.3 s by rejection, and 100 objects under 5 s if objects that
fit are kept; a scene is drawn and written as a world's bytes, on one processor.

    python3 benchmarks/scenic_worlds.py --seeds 50
    python3 benchmarks/scenic_worlds.py --seeds 0 --scenes 30      # the speed alone
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "test" / "extras" / "scenic")]

from output_check import faults_of  # noqa: E402
from test_worlds import ROBOTS, SCENARIOS  # noqa: E402

from gz_testauto.extras.scenic.output import write_scenes  # noqa: E402
from gz_testauto.extras.scenic.source import ScenicSource  # noqa: E402

EXAMPLES = ROOT / "config" / "scenic"


def scenario_file(name: str, folder: Path) -> Path:
    text, _ = SCENARIOS[name]
    if text is None:
        return EXAMPLES / f"{name}.scenic"
    path = folder / f"{name}.scenic"
    path.write_text(text)
    return path


def check(seeds: int) -> int:
    """Create one world per seed and scenario; return the number of faults."""
    found = 0
    for name, (_, side) in SCENARIOS.items():
        started, faulty = time.monotonic(), []
        with tempfile.TemporaryDirectory() as place:
            path = scenario_file(name, Path(place))
            source = ScenicSource(path, EXAMPLES / "models.yaml", 0)
            for seed in range(seeds):
                source.seed = (
                    seed  # compiling a scenario draws no random numbers, so it is done once
                )
                out = Path(place) / f"seed_{seed}"
                write_scenes(source, 1, out, plots=False)
                faulty += faults_of(out, (-side / 2, -side / 2, side / 2, side / 2), ROBOTS)
        found += len(faulty)
        seconds = time.monotonic() - started
        print(f"{name:<12}{seeds:>4} seeds  {len(faulty):>3} faults  {seconds:6.1f} s", flush=True)
        for fault in faulty[:3]:
            print(f"    {fault}")
    return found


def time_scenes(count: int, keep: bool, scenes: int) -> None:
    """Measure the time of drawing single scenes of ``storage.scenic``."""
    source = ScenicSource(
        EXAMPLES / "storage.scenic", EXAMPLES / "models.yaml", 1, {"count": count}, keep=keep
    )
    source.generate(0)
    seconds = []
    for index in range(1, scenes + 1):
        started = time.perf_counter()
        source.generate(index)
        seconds.append(time.perf_counter() - started)
    method = "kept" if keep else "rejection"
    print(
        f"{count:>4} objects, {method:<10} median {statistics.median(seconds):.3f} s, "
        f"slowest of {scenes}: {max(seconds):.3f} s",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--scenes", type=int, default=20)
    arguments = parser.parse_args()
    faults = check(arguments.seeds) if arguments.seeds else 0
    time_scenes(16, False, arguments.scenes)
    time_scenes(100, True, arguments.scenes)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
