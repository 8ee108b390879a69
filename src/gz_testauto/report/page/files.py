"""Find the logs and bags of trials, to which the page has links."""

import os
from pathlib import Path
from typing import Callable, Dict, Optional, Sequence
from urllib.parse import quote

from gz_testauto.report.sources import Source, source_of
from gz_testauto.results.records import TrialRecord
from gz_testauto.trial.trial import trial_label

FindFiles = Callable[[TrialRecord], Dict[str, str]]


def files_of_trials(sources: Sequence[Source], page_directory: Optional[Path]) -> FindFiles:
    """Return a function that returns the links to the logs and the bag of a trial, by name.

    Links are relative to ``page_directory``. If it is None, as for a page from a server, there are
    no links. There are none to files of a pack either, whose copy is temporary. The logs of the
    last attempt are used.
    """
    if page_directory is None:
        return lambda record: {}
    start = page_directory.absolute()
    logs = {source.label: source.directory.log_directories() for source in sources}

    def files(record: TrialRecord) -> Dict[str, str]:
        source = source_of(sources, record.planner)
        if source.is_packed:
            return {}
        world = source.worlds.get(record.world, record.world)
        label = trial_label(world, source.planners[record.planner], record.repetition)
        bag = source.directory.path / "bags" / f"{label}.bag"
        found = {"logs": logs[source.label].get(label), "bag": bag if bag.is_file() else None}
        return {
            name: quote(Path(os.path.relpath(path, start)).as_posix())
            for name, path in found.items()
            if path is not None
        }

    return files
