"""Pack the results of a campaign into one file, or extract them.

The zip file contains the manifest, worlds, rows, recordings and report, the installed Python
packages, checksums, and metadata for research archives (RO-Crate 1.1). Files outside of the results
directory, such as robot models, are not included; the manifest has their hashes.

--extract verifies all checksums and creates a results directory, which all commands read as the
original one. The commands report, compare and replay also read the file itself. A file of another
source cannot write outside of the directory: links, absolute names, names with "..", duplicates and
entries that are much larger than the pack are rejected.

Exit status 0: finished. 2: an error, and no file or directory is created.

examples:
  gz_testauto pack results/paper --out paper.zip
  gz_testauto pack --extract paper.zip --out results/copy
"""

import argparse
from pathlib import Path

from gz_testauto.cli.outputs import print_text
from gz_testauto.extras.pack.archive import pack, unpack

GROUP = ("results", 2)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("directory", type=Path, nargs="?", help="results directory of a campaign")
    source.add_argument("--extract", type=Path, metavar="FILE", help="pack that is extracted")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="PATH",
        help="file or directory to create, which must not exist (default: DIRECTORY.zip, or "
        "FILE without its suffix)",
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.extract is not None:
        out = arguments.out or arguments.extract.with_suffix("")
        count = unpack(arguments.extract, out)
        print_text(f"extracted: {out}, {count} files, all checksums are correct\n")
        return 0
    directory: Path = arguments.directory
    file = arguments.out or directory.absolute().with_name(directory.absolute().name + ".zip")
    count = pack(directory, file)
    print_text(f"pack: {file}, {count} files, {file.stat().st_size / 1e6:.1f} MB\n")
    return 0
