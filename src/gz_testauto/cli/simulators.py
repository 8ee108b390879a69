"""Compare simulators with each other, or with a real robot: measured, scored, and how sure.

compare  measures what BENCH.yaml names, ranks it by weights, and writes DIR/findings.json,
         measures.csv and report.html
import   reads a recorded drive (CSV or rosbag) as BENCH.yaml describes it, checks it, and writes
         it as CSV files that are read without any setting

docs/fidelity.md says what is in BENCH.yaml.

examples:
  gz_testauto simulators compare config/simulators/farley_2022.yaml --out results/farley_2022
  gz_testauto simulators import bench.yaml real --out recordings/real
"""

import argparse
import json
from pathlib import Path

from gz_testauto.errors import SpecError
from gz_testauto.fidelity.findings import as_data, find
from gz_testauto.fidelity.recordings.csv_file import write_channels
from gz_testauto.fidelity.recordings.read import read_drives
from gz_testauto.fidelity.spec import BenchSpec
from gz_testauto.registry import unknown_name
from gz_testauto.report.simulators.export import write_measures
from gz_testauto.report.simulators.page import write_page
from gz_testauto.report.simulators.terminal import print_findings
from gz_testauto.results.directory import reporting_disk, write_atomically
from gz_testauto.spec.loader import load


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    what = parser.add_subparsers(dest="what", metavar="compare|import", required=True)
    compare = what.add_parser("compare", help="measure, score and rank")
    compare.add_argument("bench", type=Path, help="what to compare (YAML)")
    compare.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="directory for what is found"
    )
    imported = what.add_parser("import", help="check a recording and write it as plain CSV files")
    imported.add_argument("bench", type=Path, help="BENCH.yaml, which says how to read it")
    imported.add_argument("entry", help="the entry whose recordings are read")
    imported.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="directory for the CSV files"
    )


def run(arguments: argparse.Namespace) -> int:
    """Do it; 0."""
    spec = load(arguments.bench, BenchSpec)
    if arguments.what == "import":
        return _import(spec, arguments.entry, arguments.out)
    found = find(spec)
    out: Path = arguments.out
    with reporting_disk(out):
        out.mkdir(parents=True, exist_ok=True)
        text = json.dumps(as_data(found), indent=1, ensure_ascii=False)
        write_atomically(out / "findings.json", text.encode())
        write_measures(found, out / "measures.csv")
        write_page(found, out / "report.html")
    print_findings(found)
    return 0


def _import(spec: BenchSpec, name: str, out: Path) -> int:
    names = [entry.name for entry in spec.entries]
    if name not in names:
        raise SpecError(f"ENTRY: {unknown_name('entry', name, names)}")
    recording = spec.entry(name).recording
    if recording is None:
        raise SpecError(f"entry {name} has no recording to read")
    for case, drives in read_drives(recording).items():
        for number, drive in enumerate(drives):
            folder = out / case / str(number)
            with reporting_disk(out):
                written = write_channels(drive, folder)
            print(f"{folder}: {', '.join(path.name for path in written.values())}")
    return 0
