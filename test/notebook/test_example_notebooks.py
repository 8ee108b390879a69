"""The notebooks in examples/ run, and print the stored outputs.

To store new outputs, run this in examples/, without a folder results:
jupyter execute --inplace --NotebookClient.record_timing=False *.ipynb
"""

import os
import sys
from pathlib import Path

import pytest

import gz_testauto

nbclient = pytest.importorskip("nbclient", reason="the extra test is not installed")
nbformat = pytest.importorskip("nbformat", reason="the extra test is not installed")
pytest.importorskip("pandas", reason="the extra test is not installed")
pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PICTURES = {"1_success_against_density": 3, "2_compare_planners": 2}
"""The number of pictures in each notebook."""
MOST_BYTES = 600_000


def outputs(notebook, with_text=True):
    """Return the types of the outputs of each cell, and their text."""
    return [
        [
            (sorted(output.get("data", ())), with_text and output_text(output))
            for output in cell.get("outputs", ())
        ]
        for cell in notebook.cells
    ]


def output_text(output):
    return output.get("text") or output.get("data", {}).get("text/plain")


def test_notebooks_are_small_and_stored_with_pictures():
    assert {path.stem for path in EXAMPLES.glob("*.ipynb")} == set(PICTURES)
    for name, pictures in PICTURES.items():
        notebook = nbformat.read(str(EXAMPLES / f"{name}.ipynb"), as_version=4)
        nbformat.validate(notebook)
        types = [kinds for cell in outputs(notebook) for kinds, _ in cell]
        assert sum("image/png" in kinds for kinds in types) == pictures
    assert sum(path.stat().st_size for path in EXAMPLES.glob("*.ipynb")) <= MOST_BYTES


@pytest.mark.parametrize("name", PICTURES)
def test_notebook_prints_the_stored_outputs(name, tmp_path, monkeypatch):
    monkeypatch.setitem(os.environ, "IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(str(EXAMPLES / f"{name}.ipynb"), as_version=4)
    # Before Python 3.11, other versions of MuJoCo compute other trajectories (constraints.txt).
    with_text = sys.version_info >= (3, 11)
    stored = outputs(notebook, with_text)
    place = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=place).execute()
    assert outputs(notebook, with_text) == stored


def test_exercise_of_a_class_gives_the_same_trials_for_the_same_seed(tmp_path):
    """As docs/teaching.md describes."""
    columns = ["world", "planner", "outcome", "distance_m", "time_s", "clearance_min_m"]

    def trials(name, seed, workers):
        results = gz_testauto.run(
            EXAMPLES / "exercise.yaml", tmp_path / name, seed=seed, worlds=3, workers=workers
        )
        return results.trials.to_pandas()[columns]

    first = trials("first", 101, workers=2)
    assert list(first.planner.unique()) == ["fgm", "dwa_fox", "mine"]
    assert trials("second", 101, workers=1).equals(first)
    assert not trials("third", 102, workers=1).equals(first)
