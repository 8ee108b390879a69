"""Unpack results into a new directory, and verify all checksums.

The other commands then read the directory as the original one. The commands report, compare and
replay also read the file itself. A file of another source cannot write outside of the directory:
links, absolute names, names with "..", duplicates and entries that are much larger than the pack
are rejected.

Exit status 0: finished. 2: an error, and no directory is created.

example:
  gz_testauto unpack paper.zip --out results/copy
  gz_testauto report results/copy
"""

import argparse
from pathlib import Path

from gz_testauto.cli.outputs import print_text
from gz_testauto.extras.pack.archive import unpack


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command-line arguments."""
    parser.add_argument("file", type=Path, help="file that `gz_testauto pack` has written")
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="results directory to create; it must not exist",
    )


def run(arguments: argparse.Namespace) -> int:
    """Unpack the file, and print the name of the directory and the number of files."""
    count = unpack(arguments.file, arguments.out)
    print_text(f"unpacked: {arguments.out}, {count} files, all checksums are correct\n")
    return 0
