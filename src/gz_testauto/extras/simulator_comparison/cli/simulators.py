"""Compare simulators with each other, or with a real robot.

compare  run the maneuvers of BENCH.yaml, measure them, rank the entries by weights, and write
         DIR/findings.json, measures.csv and report.html; stored runs are not repeated
report   measure, rank and write again from the stored runs in DIR
probe    measure the ground of each simulator on each terrain
import   read recordings (CSV or rosbag) as BENCH.yaml specifies, validate them, and write them
         as CSV files that need no settings

docs/simulator_comparison.md describes BENCH.yaml.

For two simulators in a campaign, use gz_testauto agreement or gz_testauto screen.
docs/simulator_comparison.md states which of the three commands answers which question.

exit status of compare: 0 if all runs are done and compared, 1 if something was left out, 128 +
signal after Ctrl-C (the same command continues); of probe: 0 if all grounds are correct, else 1

examples:
  gz_testauto simulators compare config/simulator_comparison/farley_2022.yaml --out results/paper
  gz_testauto simulators compare config/simulator_comparison/farley.yaml --out results/farley
  gz_testauto simulators probe config/simulator_comparison/farley.yaml --entry bullet
  gz_testauto simulators import bench.yaml real --out recordings/real
"""

import argparse
import contextlib
from pathlib import Path
from typing import Iterator, Optional

from gz_testauto.base.errors import SpecError
from gz_testauto.base.registry import unknown_name
from gz_testauto.campaign.signals import StopSignals
from gz_testauto.cli.progress import announce_stop, print_status
from gz_testauto.cli.workers import processors, worker_count
from gz_testauto.extras.simulator_comparison.bench.runner import probe_bench, run_bench
from gz_testauto.extras.simulator_comparison.bench.simulated import SimulatedData, read_simulated
from gz_testauto.extras.simulator_comparison.bench.store import BenchDirectory
from gz_testauto.extras.simulator_comparison.findings import evaluate_bench
from gz_testauto.extras.simulator_comparison.recordings.csv_file import write_channels
from gz_testauto.extras.simulator_comparison.recordings.read import read_recordings
from gz_testauto.extras.simulator_comparison.report.export import findings_to_json, write_measures
from gz_testauto.extras.simulator_comparison.report.page import write_page
from gz_testauto.extras.simulator_comparison.report.terminal import print_findings, print_probes
from gz_testauto.extras.simulator_comparison.spec import BenchSpec
from gz_testauto.results.directory import reporting_disk
from gz_testauto.spec.loader import load


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb ``simulators``."""
    what = parser.add_subparsers(dest="what", metavar="compare|report|probe|import", required=True)
    compare = what.add_parser(
        "compare",
        help="run the maneuvers, compute measures and scores, and rank the compared simulators",
    )
    compare.add_argument("bench", type=Path, help="specification of the comparison (YAML)")
    compare.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="directory for the results"
    )
    compare.add_argument(
        "--workers",
        type=worker_count,
        default=processors(),
        metavar="N",
        help="number of simulators that run in parallel (default: number of processors, "
        "here %(default)s)",
    )
    report = what.add_parser(
        "report", help="write the reports again from the stored runs, without new runs"
    )
    report.add_argument(
        "out", type=Path, metavar="DIR", help="results directory of `simulators compare`"
    )
    probe = what.add_parser("probe", help="measure the ground of each simulator")
    probe.add_argument("bench", type=Path, help="specification with simulators and terrains (YAML)")
    probe.add_argument(
        "--entry",
        metavar="NAME",
        help="measure only the simulator of this entry of the specification (default: all)",
    )
    imported = what.add_parser("import", help="validate recordings and write them as CSV files")
    imported.add_argument(
        "bench", type=Path, help="specification with the format of the recordings (YAML)"
    )
    imported.add_argument(
        "entry", help="name of the entry of the specification whose recordings are read"
    )
    imported.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="directory for the CSV files"
    )


def run(arguments: argparse.Namespace) -> int:
    """Execute the verb ``simulators`` and return the exit status."""
    if arguments.what == "report":
        directory = BenchDirectory(arguments.out)
        directory.require_begun()
        spec = load(directory.bench, BenchSpec)
        return _write(spec, read_simulated(spec, directory), arguments.out)
    spec = load(arguments.bench, BenchSpec)
    if arguments.what == "import":
        return _import(arguments.bench, spec, arguments.entry, arguments.out)
    if arguments.what == "probe":
        return _probe(arguments.bench, spec, arguments.entry)
    with _naming(arguments.bench):
        spec.require_ranked_entry()
    return _compare(arguments.bench, spec, arguments.out, arguments.workers)


def _compare(bench: Path, spec: BenchSpec, out: Path, workers: int) -> int:
    if not spec.simulated:
        directory = BenchDirectory(out)
        directory.require_fresh_or_begun()
        return _write(spec, read_simulated(spec, directory), out)
    stop = StopSignals(on_first=announce_stop)
    with stop, _naming(bench):
        simulated = run_bench(spec, out, print_status, stop, workers=workers)
    if stop():
        print_status("stopped; the same command continues")
        return stop.exit_status
    return _write(spec, simulated, out)


@contextlib.contextmanager
def _naming(bench: Path) -> Iterator[None]:
    """Add the path of the comparison's specification to the message of a ``SpecError``."""
    try:
        yield
    except SpecError as error:
        raise SpecError(f"{bench}: {error.full}") from None


def _write(spec: BenchSpec, simulated: SimulatedData, out: Path) -> int:
    """Evaluate, store and print a comparison. Return 1 if runs are missing, invalid or not
    compared, else 0."""
    found = evaluate_bench(spec, simulated.recordings, simulated.conditions)
    directory = BenchDirectory(out)
    with reporting_disk(out):
        directory.write_json(directory.bench, spec.model_dump(mode="json"))
        directory.write_json(out / "findings.json", findings_to_json(found))
        write_measures(found, out / "measures.csv")
        write_page(found, out / "report.html")
    print_findings(found)
    return 0 if simulated.complete else 1


def _probe(bench: Path, spec: BenchSpec, entry: Optional[str]) -> int:
    names = [one.name for one in spec.simulated]
    if not names:
        raise SpecError(f"{bench}: entries: no entry has a simulator to probe; add one")
    if entry is not None and entry not in names:
        raise SpecError(f"--entry: {unknown_name('entry', entry, names)}")
    with _naming(bench):
        probes = list(probe_bench(spec, names if entry is None else [entry], print_status))
    print_probes(probes)
    return 1 if any(ground.refusal is not None for _, ground in probes) else 0


def _import(bench: Path, spec: BenchSpec, name: str, out: Path) -> int:
    names = [entry.name for entry in spec.entries]
    if name not in names:
        raise SpecError(f"ENTRY: {unknown_name('entry', name, names)}")
    recording = spec.entry(name).recording
    if recording is None:
        raise SpecError(f"{bench}: entries: {name} has no recording; specify an entry with one")
    for case, recordings in read_recordings(recording).items():
        for number, run in enumerate(recordings):
            folder = out / case / str(number)
            with reporting_disk(out):
                written = write_channels(run, folder)
            print(f"{folder}: {', '.join(path.name for path in written.values())}")
    return 0
