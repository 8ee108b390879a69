"""Copy campaigns, notebooks, worlds and models to a directory.

The directory then contains config/, examples/, models/ and worlds/ of this package. Change the
copies for your own campaigns. Existing files are never overwritten.

example:
  gz_testauto init my_campaigns
  cd my_campaigns
  gz_testauto run config/example_campaign.yaml
  jupyter lab examples
"""

import argparse
import shutil
import sys
from pathlib import Path

from gz_testauto.base.errors import SpecError
from gz_testauto.base.escaping import escape_text
from gz_testauto.base.resources import share_directory
from gz_testauto.results.directory import reporting_disk

GROUP = ("start", 1)
COPIED = ("config", "examples", "models", "worlds")
OF_NOTEBOOKS = shutil.ignore_patterns(".ipynb_checkpoints", "results")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="directory for the copies")


def run(arguments: argparse.Namespace) -> int:
    directory: Path = arguments.directory
    for name in COPIED:
        if (directory / name).exists():
            raise SpecError(f"{directory / name}: exists; specify a new or empty directory")
    share = share_directory()
    with reporting_disk(directory):
        for name in COPIED:
            shutil.copytree(str(share / name), str(directory / name), ignore=OF_NOTEBOOKS)
    print(escape_text(str(directory)))
    notebooks = sorted((directory / "examples").glob("*.ipynb"))
    print(
        "try: gz_testauto run config/example_campaign.yaml, in this directory",
        "lessons for jupyter lab:",
        *(f"  examples/{path.name}" for path in notebooks),
        sep="\n",
        file=sys.stderr,
    )
    return 0
