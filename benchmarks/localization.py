"""Measure the success of planners against the error of localization, in several levels.

Runs a campaign once for each level, with ``localization.scale`` of that level and otherwise the
same worlds and seeds. All levels are therefore paired. A level that was interrupted continues with
its first missing trial. Prints one table in Markdown: success with its 95 % interval (Clopper and
Pearson), the outcome ``false_arrival``, and the mean error of the estimated position.

    ./bootstrap exec python3 benchmarks/localization.py OUT [--levels 0,1,2,4,8] [--worlds N]
        [--planners fgm,dwa] [--campaign FILE] [--workers N] [--table]
"""

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
import yaml

from gz_testauto.analysis.intervals import success_rate
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
from gz_testauto.trial.outcome import Outcome

CAMPAIGN = Path(__file__).resolve().parents[1] / "config" / "localization" / "arena.yaml"


def run_level(options, level):
    """Run the campaign with one level of error, and return its results directory."""
    document = yaml.safe_load(options.campaign.read_text())
    document["localization"]["scale"] = level
    for key in ("base", "obstacles"):
        path = options.campaign.parent / document["worlds"][key]
        document["worlds"][key] = str(path.resolve())
    out = options.out / f"level_{level:g}"
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / f"level_{level:g}.yaml"
    file.write_text(yaml.safe_dump(document, sort_keys=False))
    command = ["gz_testauto", "run", str(file), "--out", str(out), "--workers", options.workers]
    for name, value in (("--worlds", options.worlds), ("--planners", options.planners)):
        command += [name, value] if value else []
    if not options.table:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return out


def rows(out, level):
    """Yield the planner and the cells of each row of one level."""
    with ResultStore.read(CampaignDirectory(out)) as store:
        trials = [record for record in store.results().trials if record.outcome.valid]
    for planner in dict.fromkeys(record.planner for record in trials):
        own = [record for record in trials if record.planner == planner]
        reached = sum(record.outcome.success for record in own)
        _, low, high, _ = success_rate(reached, len(own))
        count = {one: sum(r.outcome is one for r in own) for one in Outcome}
        others = len(own) - reached - count[Outcome.COLLIDED] - count[Outcome.FALSE_ARRIVAL]
        errors_m = [record.metrics.get("localization_error_m", 0.0) for record in own]
        yield (
            planner,
            (
                f"{level:g}",
                f"{np.mean(errors_m):.2f}",
                f"{reached}/{len(own)}",
                f"{100 * reached / len(own):.0f} [{100 * low:.0f}, {100 * high:.0f}]",
                f"{count[Outcome.COLLIDED]}",
                f"{count[Outcome.FALSE_ARRIVAL]}",
                f"{others}",
            ),
        )


def main():
    """Run all levels, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--levels", default="0,1,2,4,8")
    parser.add_argument("--worlds", default="")
    parser.add_argument("--planners", default="")
    parser.add_argument("--campaign", type=Path, default=CAMPAIGN)
    parser.add_argument("--workers", default="1")
    parser.add_argument("--table", action="store_true", help="only print the table")
    options = parser.parse_args()
    levels = [float(level) for level in options.levels.split(",")]
    found = [row for level in levels for row in rows(run_level(options, level), level)]
    print("| planner | scale | mean error (m) | reached | % [95 %] | collided | false | other |")
    print("|---|---|---|---|---|---|---|---|")
    order = list(dict.fromkeys(planner for planner, _ in found))
    for planner, cells in sorted(found, key=lambda row: order.index(row[0])):
        print(f"| `{planner}` | {' | '.join(cells)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
