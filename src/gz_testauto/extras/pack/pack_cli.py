"""Pack the results of a campaign into one file, for archives.

The zip file contains the manifest, worlds, rows, recordings and report, the installed Python
packages, checksums, and metadata for research archives (RO-Crate 1.1). Files outside of the results
directory, such as robot models, are not included; the manifest has their hashes.

Exit status 0: finished. 2: an error.

example:
  gz_testauto pack results/paper --out paper.zip
  gz_testauto unpack paper.zip --out results/copy
"""

import argparse
from pathlib import Path

from gz_testauto.cli.outputs import print_text
from gz_testauto.extras.pack.archive import pack


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command-line arguments."""
    parser.add_argument("directory", type=Path, help="results directory of a campaign")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="file to create, which must not exist (default: DIRECTORY.zip)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the pack, and print its name, number of files and size."""
    directory: Path = arguments.directory
    file = arguments.out or directory.absolute().with_name(directory.absolute().name + ".zip")
    count = pack(directory, file)
    print_text(f"pack: {file}, {count} files, {file.stat().st_size / 1e6:.1f} MB\n")
    return 0
