"""The command that installs an extra names the source of the present installation."""

from importlib import metadata
from types import SimpleNamespace

import pytest

from gz_testauto.base import installation
from gz_testauto.base.installation import install_command


@pytest.fixture
def share(tmp_path, monkeypatch):
    """The directory of a source that was installed without a record of its origin."""
    found = SimpleNamespace(version="1.0.0", read_text=lambda name: None)
    monkeypatch.setattr(metadata, "distribution", lambda name: found)
    monkeypatch.setattr(installation, "share_directory", lambda: tmp_path)
    return tmp_path


def test_checkout_with_the_metadata_of_a_build_is_the_source_of_an_extra(share):
    (share / "pyproject.toml").touch()
    assert install_command("plot").endswith(f"-m pip install '{share}[plot]'")


def test_package_of_an_index_is_installed_with_its_version(share):
    assert install_command("plot").endswith("-m pip install 'gz_testauto[plot]==1.0.0'")
