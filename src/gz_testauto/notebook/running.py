"""Run a campaign from a file, or from a mapping of its keys."""

import contextlib
import sys
import types
from pathlib import Path
from typing import Any, Iterator, Mapping, Optional, Sequence, Union

from gz_testauto.campaign.campaign_files import read_campaign_spec
from gz_testauto.campaign.progress import CampaignListener
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.signals import StopSignals
from gz_testauto.campaign.simulator import chosen_executor, select_simulator
from gz_testauto.cli.options import processors
from gz_testauto.cli.progress import announce_stop, progress_listener
from gz_testauto.notebook.results import Results
from gz_testauto.trial.plan import TrialSelection
from gz_testauto.workers.processes import local_workers


def run(
    campaign: Union[str, Path, Mapping[str, Any]],
    out: Union[str, Path],
    *,
    simulator: str = "",
    planners: Optional[Sequence[str]] = None,
    worlds: Optional[int] = None,
    seed: Optional[int] = None,
    workers: Optional[int] = None,
    progress: bool = True,
) -> Results:
    """Run a campaign, or continue it, and return its results.

    Ctrl-C, or the button that interrupts the kernel, stops the campaign after the current control
    period; the same call then continues it. Raises ``GzTestautoError`` for invalid inputs.

    Example::

        results = gz_testauto.run("example", "results/first", worlds=4)
        results.trials.to_pandas().groupby("planner").outcome.value_counts()

    Parameters
    ----------
    campaign
        path of a campaign file, name of an installed example such as ``"example"``, or a mapping
        with the keys of a campaign file, in which paths are relative to the working directory
    out
        results directory; a campaign in this directory is continued
    simulator
        simulator that replaces the simulator of the campaign
    planners, worlds
        run only these planners, and only the first ``worlds`` worlds
    seed
        seed that replaces the seed of the campaign
    workers
        number of parallel trials, by default the number of processors; it changes only wall times
    progress
        print the progress on standard error
    """
    out = Path(out)
    spec = read_campaign_spec(campaign)
    if seed is not None:
        spec = spec.model_copy(update={"seed": seed})
    spec = select_simulator(spec, simulator)
    with StopSignals(on_first=announce_stop) as stop, _hide_main_module():
        run_campaign(
            spec,
            out,
            chosen_executor(spec, out),
            make_workers=local_workers(workers or processors(), at_most=workers is None),
            selection=TrialSelection(worlds, None if planners is None else tuple(planners)),
            listener=progress_listener() if progress else CampaignListener(),
            should_stop=stop,
            world_workers=workers or processors(),
        )
    return Results(out)


@contextlib.contextmanager
def _hide_main_module() -> Iterator[None]:
    # New processes import __main__. A script would then call run in each worker, unless all of its
    # statements are guarded.
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
