"""Compare simulators, also with a real robot (needs psutil).

docs/simulator_comparison.md states which command answers which question, and describes BENCH.yaml.

`gz_testauto simulators COMMAND --help` prints the options and exit statuses of a command.

examples:
  gz_testauto simulators agreement campaign.yaml --out results/agreement --worlds 20
  gz_testauto simulators screen campaign.yaml --out results/big --fast embedded --slow gazebo
  gz_testauto simulators compare config/simulator_comparison/farley_2022.yaml --out results/paper
  gz_testauto simulators compare config/simulator_comparison/farley.yaml --out results/farley
  gz_testauto simulators probe config/simulator_comparison/farley.yaml --entry bullet
  gz_testauto simulators import bench.yaml real --out recordings/real
"""

import argparse
import contextlib
from pathlib import Path
from typing import Callable, Iterator

from gz_testauto.base.errors import SpecError
from gz_testauto.base.registry import unknown_name
from gz_testauto.campaign.signals import StopSignals
from gz_testauto.cli.main import help_text
from gz_testauto.cli.options import processors, worker_count
from gz_testauto.cli.progress import announce_stop, print_status
from gz_testauto.extras.simulator_comparison.bench.simulated import SimulatedData, read_simulated
from gz_testauto.extras.simulator_comparison.bench.store import BenchDirectory
from gz_testauto.extras.simulator_comparison.cli import two_simulators
from gz_testauto.extras.simulator_comparison.findings import evaluate_bench
from gz_testauto.extras.simulator_comparison.recordings.csv_file import write_channels
from gz_testauto.extras.simulator_comparison.recordings.read import read_recordings
from gz_testauto.extras.simulator_comparison.report.export import findings_to_json, write_measures
from gz_testauto.extras.simulator_comparison.report.page import write_page
from gz_testauto.extras.simulator_comparison.report.terminal import print_findings, print_probes
from gz_testauto.extras.simulator_comparison.spec import BenchSpec
from gz_testauto.results.directory import reporting_disk
from gz_testauto.spec.loader import load

GROUP = ("tools", 1)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, execute: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
        text = help_text(execute.__doc__ or "")
        added = commands.add_parser(
            name,
            help=text.partition("\n")[0],
            description=text,
            formatter_class=parser.formatter_class,
            allow_abbrev=False,
        )
        added.set_defaults(execute=execute)
        return added

    two_simulators.add_agreement_arguments(command("agreement", two_simulators.run_agreement))
    two_simulators.add_screen_arguments(command("screen", two_simulators.run_screening))
    compare = command("compare", _compare)
    report = command("report", _report)
    probe = command("probe", _probe)
    imported = command("import", _import)
    for subparser in (compare, probe, imported):
        subparser.add_argument("bench", type=Path, help="specification of the comparison (YAML)")
    for subparser in (compare, imported):
        subparser.add_argument(
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
    report.add_argument(
        "out", type=Path, metavar="DIR", help="results directory of `simulators compare`"
    )
    probe.add_argument(
        "--entry",
        metavar="NAME",
        help="measure only the simulator of this entry of the specification (default: all)",
    )
    imported.add_argument(
        "entry", help="name of the entry of the specification whose recordings are read"
    )


def run(arguments: argparse.Namespace) -> int:
    return int(arguments.execute(arguments))


def _compare(arguments: argparse.Namespace) -> int:
    """Run the maneuvers of a comparison, and rank the simulators.

    The runs are measured and the entries ranked by weights. DIR then contains findings.json,
    measures.csv and report.html. Stored runs are not repeated.

    Exit status 0: all runs are done and compared. 1: something was left out. 2: an error. 130:
    stopped by Ctrl-C.
    """
    from gz_testauto.extras.simulator_comparison.bench.runner import run_bench

    bench, out = arguments.bench, arguments.out
    spec = load(bench, BenchSpec)
    with _naming(bench):
        spec.require_ranked_entry()
    if not spec.simulated:
        directory = BenchDirectory(out)
        directory.require_fresh_or_begun()
        return _write(spec, read_simulated(spec, directory), out)
    stop = StopSignals(on_first=announce_stop)
    with stop, _naming(bench):
        simulated = run_bench(spec, out, print_status, stop, workers=arguments.workers)
    if stop():
        print_status("stopped; the same command continues")
        return stop.exit_status
    return _write(spec, simulated, out)


def _report(arguments: argparse.Namespace) -> int:
    """Write the reports of a comparison again, without new runs.

    Exit status 0: all runs are done and compared. 1: something was left out. 2: an error.
    """
    directory = BenchDirectory(arguments.out)
    directory.require_begun()
    spec = load(directory.bench, BenchSpec)
    return _write(spec, read_simulated(spec, directory), arguments.out)


def _probe(arguments: argparse.Namespace) -> int:
    """Measure the ground of each simulator on each terrain.

    Exit status 0: all grounds are correct. 1: a ground is not. 2: an error.
    """
    from gz_testauto.extras.simulator_comparison.bench.runner import probe_bench

    bench, entry = arguments.bench, arguments.entry
    spec = load(bench, BenchSpec)
    names = [simulated.name for simulated in spec.simulated]
    if not names:
        raise SpecError(f"{bench}: entries: no entry has a simulator to probe; add one")
    if entry is not None and entry not in names:
        raise SpecError(f"--entry: {unknown_name('entry', entry, names)}")
    with _naming(bench):
        probes = list(probe_bench(spec, names if entry is None else [entry], print_status))
    print_probes(probes)
    return 1 if any(ground.refusal is not None for _, ground in probes) else 0


def _import(arguments: argparse.Namespace) -> int:
    """Validate recordings (CSV or rosbag), and write them as CSV files.

    BENCH.yaml specifies the format of the recordings. The CSV files need no settings.
    """
    spec = load(arguments.bench, BenchSpec)
    names = [entry.name for entry in spec.entries]
    if arguments.entry not in names:
        raise SpecError(f"ENTRY: {unknown_name('entry', arguments.entry, names)}")
    recording = spec.entry(arguments.entry).recording
    if recording is None:
        raise SpecError(
            f"{arguments.bench}: entries: {arguments.entry} has no recording; specify an entry "
            "with one"
        )
    for case, recordings in read_recordings(recording).items():
        for number, run in enumerate(recordings):
            folder = arguments.out / case / str(number)
            with reporting_disk(arguments.out):
                written = write_channels(run, folder)
            print(f"{folder}: {', '.join(path.name for path in written.values())}")
    return 0


@contextlib.contextmanager
def _naming(bench: Path) -> Iterator[None]:
    """Add the path of the specification to the message of a ``SpecError``."""
    try:
        yield
    except SpecError as error:
        raise SpecError(f"{bench}: {error.full}") from None


def _write(spec: BenchSpec, simulated: SimulatedData, out: Path) -> int:
    """Write the results of a comparison to ``out``, and print them. Return the exit status: 1 if
    runs are missing, invalid or not compared, else 0."""
    findings = evaluate_bench(spec, simulated.recordings, simulated.conditions)
    directory = BenchDirectory(out)
    with reporting_disk(out):
        directory.write_json(directory.bench, spec.model_dump(mode="json"))
        directory.write_json(out / "findings.json", findings_to_json(findings))
        write_measures(findings, out / "measures.csv")
        write_page(findings, out / "report.html")
    print_findings(findings)
    return 0 if simulated.complete else 1
