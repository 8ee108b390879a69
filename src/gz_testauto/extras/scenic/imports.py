"""Search for the files on which a Scenic program depends, without Scenic.

Paths that a program computes, and packages that are installed with Python, are not found.
"""

import os
import re
from pathlib import Path
from typing import Dict, Iterator, List, Tuple

from gz_testauto.base.disk import read_file

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<source>[\w.]+)[ \t]+import[ \t]+(?P<names>\([^)]*\)|[^#\n]*)"
    r"|(?:import|model)[ \t]+(?P<modules>[^#\n]*))",
    re.MULTILINE,
)
_QUOTED = re.compile(r"""(["'])((?:(?!\1)[^\\\n]){1,250})\1""")
_WORD = re.compile(r"[\w.]+")
_ENDINGS = (".scenic", ".sc", ".py", "/__init__.py")
_OWN = __name__.split(".")[0]  # this package, whose modules are not files of the program


def named_files(scenario: Path) -> Dict[str, Path]:
    """Return the files that a program and its files import or name.

    A key is the path from the program's folder, or from the folder of ``PYTHONPATH`` that contains
    the file. A path in quotes is relative to the folder of the file that names it.
    """
    files: Dict[str, Path] = {}
    folder = Path(scenario).absolute().parent
    waiting: List[Path] = [Path(scenario).absolute()]
    seen = set(waiting)
    while waiting:
        for path, base in _named_in(waiting.pop(), folder):
            if path not in seen:
                seen.add(path)
                files.setdefault(os.path.relpath(path, base).replace(os.sep, "/"), path)
                if path.suffix in (".scenic", ".sc", ".py"):
                    waiting.append(path)
    return dict(sorted(files.items()))


def _named_in(path: Path, folder: Path) -> Iterator[Tuple[Path, Path]]:
    """Yield the files that a file names, with the folder to which the key is relative."""
    text = read_file(path).decode("utf-8", errors="replace")
    bases = [(path.parent, folder), (folder, folder)]
    python_path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    bases += [(Path(place).absolute(), Path(place).absolute()) for place in python_path if place]
    for module in _modules_of(text):
        parts = module.strip(".").split(".")
        if parts[0] == _OWN:
            continue
        for place, base in bases:
            for count in range(1, len(parts) + 1):
                stem = str(place.joinpath(*parts[:count]))
                files = (Path(stem + end) for end in _ENDINGS if os.path.isfile(stem + end))
                yield from ((file, base) for file in files)
    for match in _QUOTED.finditer(text):
        named = Path(os.path.normpath(path.parent / match[2]))
        if os.path.isfile(named):
            yield named, folder


def _modules_of(text: str) -> Iterator[str]:
    for match in _IMPORT.finditer(text):
        source = match["source"]
        if source is not None:
            yield source
            yield from (f"{source}.{name}" for name in _WORD.findall(match["names"]))
        else:
            for clause in match["modules"].split(","):
                yield from _WORD.findall(clause)[:1]
