"""The command ``gz_testauto``, which finds a verb and runs it.

After an expected error, or an error of the machine such as a full disk, it prints one line per
fault and exits with status 2. Other exceptions are bugs, and their tracebacks are printed.

A verb is a registered module with ``add_arguments(parser)``, ``run(arguments) -> int`` and a
docstring, which is the help text. It is imported when requested. The constant ``GROUP`` states its
group and position in the list of verbs.
"""

import argparse
import contextlib
import errno
import gc
import inspect
import io
import os
import re
import resource
import signal
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any, Dict, Iterator, List, Optional, TextIO

from gz_testauto import __version__
from gz_testauto.base.errors import GzTestautoError
from gz_testauto.base.escaping import escape_text
from gz_testauto.base.registry import Registry

VERBS = Registry(
    "verb",
    {
        "init": "gz_testauto.cli.init",
        "multiply": "gz_testauto.cli.multiply",
        "map": "gz_testauto.cli.map",
        "run": "gz_testauto.cli.run",
        "replay": "gz_testauto.cli.replay",
        "watch": "gz_testauto.cli.watch",
        "report": "gz_testauto.cli.report",
        "compare": "gz_testauto.cli.compare",
        "doctor": "gz_testauto.cli.doctor",
        "completion": "gz_testauto.cli.completion",
    },
)

# the first groups of ``--help``, in this order
GROUPS = ("start", "worlds", "continuous integration", "failures", "planners", "results", "tools")
NO_GROUP = ("other packages", 0)  # the group and position of a verb without the constant ``GROUP``

_FULL = (
    "free space on the device; for temporary files, you can also set TMPDIR to a directory on "
    "another device"
)
_REMEDIES = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EROFS: "choose a directory that can be written",
    errno.EIO: "check the device for errors",
    errno.EMFILE: "raise the limit of open files (ulimit -n), or use fewer --workers",
    errno.ENFILE: "the system has too many open files: use fewer --workers, or stop other programs",
    errno.EAGAIN: "raise the limit of processes (ulimit -u), or use fewer --workers",
    errno.ENOMEM: "the memory is exhausted: use fewer --workers, or stop other programs",
}

LEAST_ADDRESS_SPACE_B = 1_000_000_000  # smallest limit (``ulimit -v``) with which verbs run

HELP_WIDTH = 79  # argparse wraps the descriptions of options itself
MESSAGE_KEPT_S = 86_400.0
_MESSAGE_PREFIX, _MESSAGE_SUFFIX = "gz_testauto_message_", ".txt"
EXIT_STATUSES = "Exit status 0: finished. 2: an error. 130, 143: stopped by Ctrl-C, by SIGTERM."
EXIT_ERROR = 2
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143
# The status of a command that SIGPIPE kills in a shell. It is not 0, which would state that the
# command has finished, for example that a gate has passed.
EXIT_BROKEN_PIPE = 141


def main(argv: Optional[List[str]] = None) -> int:
    _prepare_streams()
    arguments = sys.argv[1:] if argv is None else list(argv)
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_overview_text())
        return 0 if arguments else EXIT_ERROR
    if arguments[0] == "--version":
        print(f"gz_testauto {__version__}")
        return 0
    lasting = LastingStream(sys.stderr)
    with contextlib.redirect_stderr(lasting):  # type: ignore[type-var]
        return _run_and_report_errors(arguments)


def _run_and_report_errors(arguments: List[str]) -> int:
    """Run a verb, print its errors, and return the exit status."""
    try:
        _adapt_to_memory_limit()
        with _raising_termination():
            return _run_verb(arguments[0], arguments[1:])
    except GzTestautoError as error:
        print(f"gz_testauto: {escape_text(str(error))}", file=sys.stderr)
        if str(error) != error.full:
            print(f"gz_testauto: in full: {_store_message(error.full)}", file=sys.stderr)
        return EXIT_ERROR
    except _Terminated:
        print("gz_testauto: terminated", file=sys.stderr)
        return EXIT_TERMINATED
    except KeyboardInterrupt:
        print("gz_testauto: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except MemoryError:
        return _print_failure("the memory is exhausted; use fewer --workers, or smaller inputs")
    except BrokenPipeError:  # the reader of the output has closed the pipe, as `head` does
        _redirect_to_null(sys.stdout)
        return EXIT_BROKEN_PIPE
    except OSError as error:
        remedy = _remedy(error)
        if remedy is None:
            raise
        return _print_failure(f"{error.filename or 'a file'}: {error.strerror}; {remedy}")


class _Terminated(KeyboardInterrupt):
    """SIGTERM outside of :class:`~gz_testauto.campaign.signals.StopSignals`."""


@contextlib.contextmanager
def _raising_termination() -> Iterator[None]:
    # By default, SIGTERM leaves temporary directories.
    is_default = threading.current_thread() is threading.main_thread() and (
        signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    )

    def terminate(number: int, frame: Optional[FrameType]) -> None:
        raise _Terminated

    if is_default:
        signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        if is_default:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _adapt_to_memory_limit() -> None:
    """Limit the threads of OpenBLAS if the address space of this process is limited. Raises
    ``GzTestautoError`` if the limit is too small."""
    # OpenBLAS, which NumPy and SciPy use, reserves memory for each thread and repeats a reservation
    # that fails, so its initialization would never return. One thread needs less.
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    if limit < LEAST_ADDRESS_SPACE_B:
        raise GzTestautoError(
            f"the memory limit of this process is {limit / 1e6:.0f} MB (ulimit -v); it must be at "
            f"least {LEAST_ADDRESS_SPACE_B / 1e6:.0f} MB: raise the limit, for example by "
            "`ulimit -v unlimited`, or start the command in a shell without a limit"
        )
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _prepare_streams() -> None:
    # An opened file would otherwise get the descriptor of a closed standard stream.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


class LastingStream:
    """A text stream that discards all output after an error, such as a full disk or a closed
    pipe."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError:
            _redirect_to_null(self._stream)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            _redirect_to_null(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _redirect_to_null(stream: TextIO) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def _remedy(error: OSError) -> Optional[str]:
    """Return the remedy for an error of the machine, or None for a bug."""
    if isinstance(error, FileNotFoundError) and not _has_working_directory():
        return "the working directory was removed; change to another directory with `cd`"
    if "No usable temporary directory" in str(error):
        return "set TMPDIR to a directory with free space that can be written"
    return _REMEDIES.get(error.errno or 0)


def _has_working_directory() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def _print_failure(message: str) -> int:
    print(
        f"gz_testauto: {escape_text(message)}. Finished trials are stored; to continue, run the "
        "same command again",
        file=sys.stderr,
    )
    return EXIT_ERROR


def _run_verb(name: str, arguments: List[str]) -> int:
    # Imports create many objects and little garbage. Garbage collections that traverse them take a
    # tenth of the time until the first trial, so these objects are excluded from collections.
    gc.disable()
    try:
        verb_module = VERBS.get(name)
        gc.freeze()
    finally:
        gc.enable()
    parser = argparse.ArgumentParser(
        prog=f"gz_testauto {name}",
        description=help_text(verb_module.__doc__ or ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,  # else a new option can change the meaning of a script
    )
    verb_module.add_arguments(parser)
    with VERBS.requiring(name):
        return int(verb_module.run(parser.parse_args(arguments)))


def help_text(documentation: str) -> str:
    """Return the wrapped help text of a verb, with the usual exit statuses if it states none."""
    paragraphs = inspect.cleandoc(documentation).split("\n\n")
    if "exit status" not in documentation.lower():
        paragraphs[1:1] = [EXIT_STATUSES]
    return "\n\n".join(
        "\n".join(map(_wrap_help_line, paragraph.splitlines()))
        if "\n " in paragraph or paragraph.startswith(" ")
        else textwrap.fill(paragraph, HELP_WIDTH)
        for paragraph in paragraphs
    )


def _wrap_help_line(line: str) -> str:
    indent = re.match(r"(\S+  +|\s*(\S+  +)?)", line)
    is_command = "gz_testauto " in line
    hanging = " " * 6 if is_command else " " * len(indent[0] if indent else "")
    lines = textwrap.wrap(
        line,
        HELP_WIDTH - 2,
        subsequent_indent=hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return (" \\\n" if is_command else "\n").join(lines or [line])


def _store_message(message: str) -> str:
    """Write a message to a temporary file, and return the path of the file, or the text of the
    error if that fails. Files older than :data:`MESSAGE_KEPT_S` are removed."""
    try:
        for old_file in Path(tempfile.gettempdir()).glob(f"{_MESSAGE_PREFIX}*{_MESSAGE_SUFFIX}"):
            with contextlib.suppress(OSError):  # of another user, or removed by another command
                if time.time() - old_file.lstat().st_mtime > MESSAGE_KEPT_S:
                    old_file.unlink()
        descriptor, path = tempfile.mkstemp(_MESSAGE_SUFFIX, _MESSAGE_PREFIX)
        with open(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(message + "\n")
    except OSError as error:
        return f"cannot be written: {error}"
    return path


def grouped_verbs() -> Dict[str, Dict[str, str]]:
    """Return the groups of ``--help``, each with its verbs and the first lines of their help."""
    groups: Dict[str, Dict[str, str]] = {group: {} for group in GROUPS}
    places = []
    for name in VERBS.names():
        summary, group = VERBS.outline(name, "GROUP")
        places.append((*(group or NO_GROUP), name, summary))
    for group, _, name, summary in sorted(places, key=lambda place: place[1]):
        groups.setdefault(group, {})[name] = summary
    return {group: verbs for group, verbs in groups.items() if verbs}


def _overview_text() -> str:
    width = max(map(len, VERBS.names()))
    lines = ["usage: gz_testauto VERB ...", ""]
    lines += ["Monte Carlo testing of mobile-robot navigation in Gazebo.", ""]
    for group, verbs in grouped_verbs().items():
        lines += [f"{group}:", *(f"  {name:<{width}}  {verbs[name]}" for name in verbs), ""]
    return "\n".join([*lines, "gz_testauto VERB --help prints the options of a verb."])


if __name__ == "__main__":
    sys.exit(main())
