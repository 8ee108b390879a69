"""Find the source files on which a plug-in depends.

These are files of the package of the plug-in, found from import statements without running them, so
that the result does not depend on the modules that this process has imported.
"""

import ast
import importlib.machinery
import inspect
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, Optional

from gz_testauto.base.disk import read_file

OWN_PACKAGE = __name__.partition(".")[0]


def modules_of(plugin: Any) -> Dict[str, Path]:
    """Return the files of the modules on which a plug-in depends, by the modules' names. The module
    of the plug-in itself is not included.

    These are the modules of the base classes, and all modules that the plug-in imports directly or
    indirectly, all in the plug-in's package: its top-level package, or, for a plug-in of this
    package, its folder.
    """
    name = str(getattr(plugin, "__module__", ""))
    top, _, rest = name.partition(".")
    if not rest:  # a module without a package
        return {}
    scope = name.rpartition(".")[0] if top == OWN_PACKAGE else top
    found: Dict[str, Path] = {}
    waiting = [name]
    if inspect.isclass(plugin):
        bases = (base.__module__ for base in plugin.__mro__)
        waiting += [base for base in bases if base.startswith(f"{top}.")]
    while waiting:
        module = waiting.pop()
        path = _file_of(module)
        if path is not None and module not in found:
            found[module] = path
            waiting += _imports_of(module, path, scope)
    found.pop(name, None)
    return dict(sorted(found.items()))


def _file_of(module: str) -> Optional[Path]:
    """Return the source file, or the compiled file, of a module in an imported package."""
    top, _, rest = module.partition(".")
    for folder in getattr(sys.modules.get(top), "__path__", ()):
        base = Path(folder, *rest.split(".")) if rest else Path(folder)
        for stem in (base / "__init__", base) if rest else (base / "__init__",):
            for suffix in importlib.machinery.all_suffixes():
                path = stem.with_name(stem.name + suffix)
                if path.is_file():
                    return path
    return None


def _imports_of(module: str, path: Path, scope: str) -> Iterator[str]:
    """Yield the names of the modules in the package ``scope`` that a source file imports."""
    if path.suffix != ".py":
        return
    try:
        tree = ast.parse(read_file(path))
    except SyntaxError:  # the module cannot be imported
        return
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: package.count(".") + 2 - node.level]
                base = ".".join([*above, base] if base else above)
            names += [(base, alias.name) for alias in node.names]
    for base, name in names:
        if f"{base}.".startswith(f"{scope}."):
            # the name is a module of the package, or a value that its __init__.py provides
            submodule = f"{base}.{name}"
            yield submodule if name and _file_of(submodule) else base
