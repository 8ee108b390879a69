"""The dataclasses of a package whose instances can be changed."""

import dataclasses
import importlib
import inspect
import pkgutil


def mutable_dataclasses(package):
    """Return the names of the dataclasses that are not frozen in all modules of a package."""
    modules = pkgutil.walk_packages(package.__path__, package.__name__ + ".")
    return [
        name
        for module in modules
        for name, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass)
        if kind.__module__ == module.name
        and dataclasses.is_dataclass(kind)
        and not kind.__dataclass_params__.frozen
    ]
