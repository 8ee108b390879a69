"""Search for the model that a descriptor names.

This module defines the order: ``models_dir``, then Gazebo's model path, then the cache of
downloaded models, and last, if allowed, the network
(:mod:`gz_testauto.extras.scenic.model_download`).
"""

import os
from pathlib import Path
from typing import Iterator, List, Optional

from gz_testauto.base import resources
from gz_testauto.base.errors import ResourceError
from gz_testauto.extras.scenic.descriptor import DescriptorSpec, ModelSpec, load_descriptor
from gz_testauto.extras.scenic.model_download import download_model


def cache_directory() -> Path:
    """Return the directory of downloaded models, ``gz_testauto/models`` in the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "gz_testauto" / "models"


def sdf_files(models: Path) -> Iterator[Path]:
    """Yield the SDF files of a descriptor: of the base world, and of each model. Raises
    ``SpecError`` or ``ResourceError`` if one does not exist."""
    descriptor = load_descriptor(models)
    search = ModelSearch(descriptor)
    if descriptor.world is not None:
        yield descriptor.world
    for model in descriptor.models:
        if not model.mission_only:
            yield resources.model_file(search.find(model))


class ModelSearch:
    """A search for the models of one descriptor. ``download`` allows the network."""

    def __init__(self, descriptor: DescriptorSpec, download: bool = False) -> None:
        assert descriptor.models_dir is not None, "set when it was loaded"
        self.model_path = (descriptor.models_dir, *resources.model_path(), cache_directory())
        """The directories in search order; ``model://`` within models uses the same."""
        self._download = download

    def find(self, model: ModelSpec) -> Path:
        """Return the model's directory. Raises ``ResourceError`` with the directories searched."""
        for directory in self.model_path:
            found = directory / model.name
            if found.is_dir():
                return Path(os.path.abspath(found))
        if self._download:
            return download_model(model.name, model.url, cache_directory())
        raise ResourceError(self._not_found(model))

    def _not_found(self, model: ModelSpec) -> str:
        meant: Optional[str] = next(
            filter(None, (resources.find_ignoring_case(d, model.name) for d in self.model_path)),
            None,
        )
        where: List[str] = [str(directory) for directory in self.model_path]
        hint = f"did you mean {meant!r}? " if meant else ""
        return (
            f"model {model.name!r} was not found in {', '.join(where)}: {hint}put its folder into "
            "one of them, add a directory to GAZEBO_MODEL_PATH, or allow the network by --download"
        )
