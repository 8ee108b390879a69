"""List the plugins in world files that the simulator of a campaign will load and run."""

import contextlib
from collections import Counter
from pathlib import Path
from typing import Iterable, Optional

from gz_testauto.base.errors import GzTestautoError, SpecError
from gz_testauto.base.escaping import escape_text
from gz_testauto.base.parameters import parameters_of
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.includes import ModelLibrary, read_world
from gz_testauto.sdf.plugins import plugin_files
from gz_testauto.simulators import SIMULATORS, chosen_simulator
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec
from gz_testauto.spec.worlds import WorldsSpec
from gz_testauto.worlds.source import specified_files, xacro_input

SHOWN = 10


def runs_plugins(spec: CampaignSpec) -> bool:
    """Return whether the campaign's simulator runs the plugins in world files.

    Raises ``SpecError`` if ``worlds.plugins`` is false and the simulator cannot remove plugins.
    """
    name, can_remove = "a stack", False
    if isinstance(spec, BuiltinCampaignSpec):
        adaptor = SIMULATORS.get(chosen_simulator(spec.simulator))
        if not getattr(adaptor, "runs_plugins", False):
            return False
        name = f"simulator {spec.simulator!r}"
        can_remove = "world_plugins" in parameters_of(adaptor)
    if spec.worlds.plugins:
        return True
    if not can_remove:
        raise SpecError(
            f"{name} cannot remove the plugins of worlds; generate worlds without plugins with "
            "`gz_testauto multiply --no-plugins`, and remove --no-plugins or worlds.plugins: false "
            "from this campaign"
        )
    return False


def plugins_notice(spec: CampaignSpec, worlds: Optional[Iterable[Path]] = None) -> str:
    """Return a line that lists the plugins that the simulator will run; "" if it runs none.

    Raises the errors of :func:`runs_plugins`.
    """
    if not runs_plugins(spec):
        return ""
    counts = (
        plugin_counts(specified_files(spec), spec.worlds)
        if worlds is None
        else plugin_counts(worlds)
    )
    if not counts:
        return ""
    lines = [
        f"{escape_text(name)} (in {number} world{'' if number == 1 else 's'})"
        for name, number in counts.most_common(SHOWN)
    ]
    if len(counts) > SHOWN:
        lines.append(f"and {len(counts) - SHOWN} more")
    is_removable = worlds is None and isinstance(spec, BuiltinCampaignSpec)
    remedy = "; --no-plugins removes them" if is_removable else ""
    return f"the simulator will run plugins of the worlds: {', '.join(lines)}{remedy}"


def plugin_counts(worlds: Iterable[Path], spec: Optional[WorldsSpec] = None) -> "Counter[str]":
    """Return the number of worlds that contain each plugin, by the plugin's file name. Worlds that
    cannot be read are skipped. xacro runs only with ``spec``."""
    library = ModelLibrary()
    counts: Counter[str] = Counter()
    for path in worlds:
        with contextlib.suppress(GzTestautoError):  # reported when the world is read
            document = (
                SdfDocument.read(path)
                if spec is None
                else read_world(path, xacro=xacro_input(spec, path))
            )
            counts.update(plugin_files(document, library))
    return counts
