"""Find and read campaigns and other files by a path, a URI or an example's name."""

import os
from pathlib import Path
from typing import Any, Mapping, Union

import yaml

from gz_testauto.base.errors import ResourceError
from gz_testauto.base.resources import resolve, share_directory
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load, parse

SUFFIXES = ("", ".yaml", "_campaign.yaml")


def input_path(text: str) -> Path:
    """Resolve a path or URI, or raise ``ResourceError`` if the file of a URI is not found."""
    return resolve(text, Path.cwd()) if "://" in text else Path(text)


def campaign_path(text: str) -> Path:
    """Return the path of a campaign file from its path, URI or name.

    The name ``example`` is ``config/example_campaign.yaml`` of this package. An existing file has
    priority. An unknown name is returned as a path. Raises ``ResourceError`` if the file of a URI
    does not exist.
    """
    path = input_path(text)
    if len(path.parts) != 1 or os.path.exists(path):
        return path
    try:
        config = share_directory() / "config"
    except ResourceError:  # the core works without the examples
        return path
    candidates = (config / f"{text}{suffix}" for suffix in SUFFIXES)
    return next((file for file in candidates if os.path.isfile(file)), path)


def read_campaign_spec(campaign: Union[str, Path, Mapping[str, Any]]) -> CampaignSpec:
    """Read a campaign by a name as in :func:`campaign_path`, or from a mapping of its keys.

    Paths in a mapping are relative to the working directory. Raises ``SpecError``.
    """
    if not isinstance(campaign, Mapping):
        return load(campaign_path(str(campaign)), CampaignSpec)
    text = yaml.safe_dump(dict(campaign), sort_keys=False)
    return parse(text, CampaignSpec, Path.cwd() / "campaign", called="the campaign")
