"""Print lines of code, verbs and options of checkouts, one column each.

    ./bootstrap exec python3 test/architecture/size.py               # this checkout
    git worktree add ../before HEAD~20
    ./bootstrap exec python3 test/architecture/size.py ../before .   # before and after

Blank lines, comments, docstrings and imports are not counted. An option counts once for each verb.
"""

import argparse
import ast
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path


def code_lines(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    omitted = {n for n, line in enumerate(lines, 1) if not line.partition("#")[0].strip()}
    for node in ast.walk(ast.parse("\n".join(lines))):
        is_text = isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)
        if is_text or isinstance(node, (ast.Import, ast.ImportFrom)):
            omitted.update(range(node.lineno, node.end_lineno + 1))
    return len(lines) - len(omitted)


def options(parser):
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    names = {action.dest for action in parser._actions if action.option_strings}
    commands = [command for action in below for command in action.choices.values()]
    return len(names - {"help", "version"}) + sum(map(options, commands))


def sizes(source):
    """Return the sizes of the imported package, whose folder is ``source``."""
    from gz_testauto.cli.completion import parser_of_all_verbs
    from gz_testauto.cli.main import VERBS

    lines = Counter()
    for path in sorted(source.rglob("*.py")):
        folders = path.relative_to(source).parts[:-1]
        is_extra = folders[:1] == ("extras",)
        for name in ("/".join(folders[: 1 + is_extra]), "ALL EXTRAS" if is_extra else "CORE"):
            lines[name or "."] += code_lines(path)
    total = lines["CORE"] + lines["ALL EXTRAS"]
    counts = {"VERBS": len(VERBS.names()), "OPTIONS": options(parser_of_all_verbs({}))}
    return {**lines, "TOTAL": total, **counts}


def measured(checkout):
    """Return the sizes of a checkout from a process that imports it."""
    source = Path(checkout).resolve() / "src"
    if not source.is_dir():
        sys.exit(f"{checkout}: the folder is no checkout; use git worktree add for a revision")
    path = os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, __file__, "--json", str(source / "gz_testauto")]
    return json.loads(subprocess.check_output(command, env={**os.environ, "PYTHONPATH": path}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--json"]:
        print(json.dumps(sizes(Path(sys.argv[2]))))
    else:
        columns = list(map(measured, sys.argv[1:] or [Path(__file__).parents[2]]))
        for name in sorted({name for column in columns for name in column}):
            print(f"{name:28}", *(f"{column.get(name, 0):7}" for column in columns))
