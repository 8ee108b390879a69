"""List the world plugins that the simulator of a campaign will load and run.

Decides whether a campaign's trials run the plugins of its worlds, and creates the notice that names
them. :mod:`gz_testauto.sdf.plugins` finds and removes plugins.
"""

import contextlib
from collections import Counter
from pathlib import Path
from typing import Iterable, Iterator, Optional

from gz_testauto.base.errors import GzTestautoError, SpecError
from gz_testauto.base.escaping import escape_text
from gz_testauto.base.parameters import parameters_of
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.plugins import plugin_files
from gz_testauto.simulators import SIMULATORS, chosen_simulator
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec
from gz_testauto.worlds.source import world_source

SHOWN = 10


def runs_plugins(spec: CampaignSpec) -> bool:
    """Return whether the trials load the libraries of the worlds' plugins. Raises ``SpecError`` if
    they would although the campaign disables them (``worlds.plugins``)."""
    name, can_leave_out = "a stack", False
    if isinstance(spec, BuiltinCampaignSpec):
        adaptor = SIMULATORS.get(chosen_simulator(spec.simulator))
        if not getattr(adaptor, "runs_plugins", False):
            return False
        name = f"simulator {spec.simulator!r}"
        can_leave_out = "world_plugins" in parameters_of(adaptor)
    if spec.worlds.plugins:
        return True
    if not can_leave_out:
        raise SpecError(
            f"{name} loads worlds unchanged, with their plugins; generate worlds without them by "
            "`gz_testauto multiply --no-plugins`, and omit --no-plugins and worlds.plugins"
        )
    return False


def plugins_notice(spec: CampaignSpec, worlds: Optional[Iterable[Path]] = None) -> str:
    """Return one line that lists the plugins that trials in these worlds (default: all of the
    campaign) will run; empty for none. Raises as :func:`runs_plugins`."""
    if not runs_plugins(spec):
        return ""
    library = ModelLibrary()
    found: Counter[str] = Counter()
    for path in _worlds(spec) if worlds is None else worlds:
        with contextlib.suppress(GzTestautoError):  # reported when the world is read
            found.update(plugin_files(SdfDocument.read(path), library))
    if not found:
        return ""
    named = [
        f"{escape_text(name)} ({_in_worlds(count)})" for name, count in found.most_common(SHOWN)
    ]
    if len(found) > SHOWN:
        named.append(f"and {len(found) - SHOWN} more")
    can_leave_out = worlds is None and isinstance(spec, BuiltinCampaignSpec)
    without = "; --no-plugins removes them" if can_leave_out else ""
    return f"the simulator will run plugins of the worlds: {', '.join(named)}{without}"


def _in_worlds(count: int) -> str:
    return f"in {count} world{'' if count == 1 else 's'}"


def _worlds(spec: CampaignSpec) -> Iterator[Path]:
    """Yield the files of the campaign's worlds, or the files from which they are generated."""
    worlds = spec.worlds
    source = world_source(spec)
    if worlds.base is not None:
        yield worlds.base
    elif source is not None:
        yield from source.sdf_files()
    elif worlds.directory is not None:
        chosen = worlds.files
        names = None if chosen is None else [Path(entry.file).name for entry in chosen]
        for path in sorted(Path(worlds.directory).glob("*.world"))[: worlds.count]:
            if names is None or path.name in names:
                yield path
