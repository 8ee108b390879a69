"""The notebooks in examples/ run, and their tables and pictures have the expected content."""

import os
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient", reason="the extra test is not installed")
nbformat = pytest.importorskip("nbformat", reason="the extra test is not installed")
pytest.importorskip("pandas", reason="the extra notebook is not installed")
pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
EXPECTED = {
    "1_first_campaign": (
        "'smoke' in 'results/smoke': 4 of 4 trials",
        "clearance_min_m",
        "image/png",
        "data:image/gif",
        "('reached', True)",
    ),
    "2_success_against_density": ("obstacles", "image/png", "success"),
    "3_compare_planners": ("difference", "success", "image/png"),
}
"""Parts of the outputs of each notebook."""

FEWER_FRAMES = "from gz_testauto.report import animation; animation.MOST_FRAMES = 10"
ONE_PROCESS = "from gz_testauto.notebook import running; running.processors = lambda: 1"
STARTUP = {
    "1_first_campaign": FEWER_FRAMES,  # its trials run in processes
    "2_success_against_density": ONE_PROCESS,
    "3_compare_planners": ONE_PROCESS,
}
"""What the kernel of each notebook executes first, to save processor time."""


def outputs(notebook):
    """Return the outputs of all cells as one text, with the kinds of pictures."""
    found = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    parts = []
    for output in found:
        data = output.get("data", {})
        parts += [*data, data.get("text/plain", ""), data.get("text/html", "")]
        parts.append(output.get("text", "") if output.output_type == "stream" else "")
    return "\n".join(parts)


def test_each_notebook_has_expected_outputs():
    assert {path.stem for path in EXAMPLES.glob("*.ipynb")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_notebook_runs_with_the_expected_outputs(name, tmp_path, monkeypatch):
    monkeypatch.setitem(os.environ, "IPYTHONDIR", str(tmp_path / "ipython"))
    startup = tmp_path / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "smaller.py").write_text(STARTUP[name])
    notebook = nbformat.read(str(EXAMPLES / f"{name}.ipynb"), as_version=4)
    nbformat.validate(notebook)
    assert outputs(notebook) == "", "notebooks are stored without outputs"
    place = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=place).execute()
    text = outputs(notebook)
    assert [part for part in EXPECTED[name] if part not in text] == []
