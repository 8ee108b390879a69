"""Print a shell script that completes commands (needs shtab).

The script completes verbs, options and files. bash reads the scripts of the folder below when a
command is completed for the first time; zsh reads those of the folders in its variable fpath. Print
the script again after an installation of further verbs or of another version.

example:
  mkdir -p ~/.local/share/bash-completion/completions
  cd ~/.local/share/bash-completion/completions
  gz_testauto completion bash > gz_testauto
"""

import argparse
from typing import Any, Dict

from gz_testauto.base.errors import GzTestautoError, MissingDependencyError
from gz_testauto.base.installation import install_command

GROUP = ("tools", 2)
SHELLS = ("bash", "zsh", "tcsh")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell")


def run(arguments: argparse.Namespace) -> int:
    try:
        import shtab
    except ImportError as error:
        raise MissingDependencyError(
            f"completion needs shtab: {install_command('completion')}"
        ) from error
    print(shtab.complete(parser_of_all_verbs(shtab.FILE), shell=arguments.shell))
    return 0


def parser_of_all_verbs(files: Dict[str, Any]) -> argparse.ArgumentParser:
    """Return the parser of all verbs. ``files`` is shtab's completion of file names, which applies
    to each argument without choices."""
    from gz_testauto.cli.main import VERBS, grouped_verbs  # which imports this module by name only

    parser = argparse.ArgumentParser(prog="gz_testauto")
    parser.add_argument("--version", action="version", version="")
    verbs = parser.add_subparsers()
    for name, summary in [item for group in grouped_verbs().values() for item in group.items()]:
        try:
            verb = VERBS.get(name)
        except GzTestautoError:
            continue  # of another package, without a library that it imports
        verb_parser = verbs.add_parser(name, help=summary, allow_abbrev=False)
        verb.add_arguments(verb_parser)
        _mark_files(verb_parser, files)
    return parser


def _mark_files(parser: argparse.ArgumentParser, file_completion: Dict[str, Any]) -> None:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for subparser in action.choices.values():
                _mark_files(subparser, file_completion)
        elif action.choices is None and action.nargs != 0:
            action.complete = file_completion  # type: ignore[attr-defined]
