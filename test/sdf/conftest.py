"""Fixtures that create model directories."""

import pytest


@pytest.fixture
def model_directory(tmp_path):
    """Return a function that creates model directories in a directory for the model path."""
    root = tmp_path / "models"

    def make(name, sdf, version="1.6", config=None):
        directory = root / name
        directory.mkdir(parents=True, exist_ok=True)
        text = sdf if sdf.startswith(("<sdf", "<?xml")) else f'<sdf version="{version}">{sdf}</sdf>'
        (directory / "model.sdf").write_text(text)
        config = config or f'<model><sdf version="{version}">model.sdf</sdf></model>'
        (directory / "model.config").write_text(config)
        return directory

    make.root = root
    return make
