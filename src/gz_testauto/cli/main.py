"""The command ``gz_testauto``: finds the verb and runs it.

Owns the boundary between errors and exit statuses: a known error prints one line per fault
and exits 2, an interruption exits 130, a bug keeps its traceback. Each verb is a module of
this folder with a docstring (its help), ``add_arguments(parser)`` and
``run(arguments) -> int``; it is imported when it is asked for and not before.
"""

import argparse
import importlib
import keyword
import os
import sys
import tempfile
from typing import List, Optional

from gz_testauto import __version__
from gz_testauto.base.errors import GzTestautoError
from gz_testauto.base.escaping import printable
from gz_testauto.base.registry import unknown_name

VERBS = {
    "multiply": "make many worlds from one, each with other random obstacles",
    "scenic": "make worlds from a scenario written in Scenic",
    "map": "write the map of a base world as map_server's files",
    "run": "drive every planner through every world and compare",
    "agree": "run the same trials in two simulators and say how far they agree",
    "replay": "run one trial again and say whether it ended the same",
    "watch": "follow a campaign while it runs",
    "report": "print or write what a finished campaign found",
    "compare": "compare planners of several campaigns in the same worlds",
    "gate": "say by exit status whether a planner is not worse than another",
    "power": "say what a number of worlds can show",
    "import": "make results that others measured into a results directory",
    "train": "train a policy in a campaign's worlds",
    "record": "write down what a planner does in an environment, to be imitated",
    "simulators": "compare simulators with each other or a real robot's recordings",
    "doctor": "say what this machine has and what it lacks",
}

EXIT_ERROR = 2
EXIT_INTERRUPTED = 130


def main(argv: Optional[List[str]] = None) -> int:
    """Run one verb; returns the exit status."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_overview())
        return 0 if arguments else EXIT_ERROR
    if arguments[0] == "--version":
        print(f"gz_testauto {__version__}")
        return 0
    try:
        return _run_verb(arguments[0], arguments[1:])
    except GzTestautoError as error:
        print(f"gz_testauto: {printable(str(error))}", file=sys.stderr)
        if str(error) != error.full:
            print(f"gz_testauto: in full: {_kept(error.full)}", file=sys.stderr)
        return EXIT_ERROR
    except KeyboardInterrupt:
        print("gz_testauto: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # whoever read our output has closed it, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run_verb(name: str, arguments: List[str]) -> int:
    if name not in VERBS:
        print(f"gz_testauto: {unknown_name('verb', name, VERBS)}", file=sys.stderr)
        return EXIT_ERROR
    module = f"{name}_" if keyword.iskeyword(name) else name
    verb = importlib.import_module(f"gz_testauto.cli.{module}")
    parser = argparse.ArgumentParser(
        prog=f"gz_testauto {name}",
        description=verb.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verb.add_arguments(parser)
    return int(verb.run(parser.parse_args(arguments)))


def _kept(message: str) -> str:
    """Write a message to a file; says where, or why not."""
    try:
        descriptor, path = tempfile.mkstemp(prefix="gz_testauto_", suffix=".txt")
        with open(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(message + "\n")
    except OSError as error:
        return f"cannot be written: {error}"
    return path


def _overview() -> str:
    width = max(map(len, VERBS))
    lines = [f"  {name:<{width}}  {summary}" for name, summary in VERBS.items()]
    return "\n".join(
        [
            "usage: gz_testauto VERB ...",
            "",
            "Monte Carlo testing of mobile-robot navigation in Gazebo.",
            "",
            *lines,
            "",
            "gz_testauto VERB --help says more; gz_testauto --version the version.",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
