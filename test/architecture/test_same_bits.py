"""Results have the same bits on each processor: a rule for the source, and a trial that runs as on
another processor."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "gz_testauto"
EXTRAS = ("extras/learning/policies", "extras/localization", "extras/people", "extras/roads")
FOLDERS = ("actors", "base", "metrics", "planners", "sampling", "simulators", "trial", *EXTRAS)
CHOSEN_BY_PROCESSOR = re.compile(
    r"[\w\])] @ [\w(]|np\.linalg\.(?!norm\(.*axis=)"
    r"|np\.(dot|matmul|inner|vdot|tensordot|convolve|correlate|power|cbrt|tan|sinh|cosh"
    r"|exp|exp2|expm1|log|log2|log10|log1p|logaddexp|arcsin|arccos|arctan|arctan2)\b"
)
EXCEPTIONS = {
    "base/arithmetic.py",  # names the functions in its docstring
    "simulators/kinematic/stance.py",  # fits a plane to the supports of a robot on uneven ground
}

FITTED = ("jerk_rms_mps3", "log_dimensionless_jerk")
"""Metrics that fit polynomials with LAPACK."""

PROCESSORS = (
    {"OPENBLAS_CORETYPE": "Haswell"},
    {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512_SKX X86_V4"},
)
PRODUCT = """
import numpy as np
left, right = np.random.default_rng(0).normal(size=(2, 9, 9))
print((left @ right).tobytes().hex())
"""
TRIALS = """
import contextlib, sys
from pathlib import Path
from gz_testauto.analysis.repeatability import recording_bits
from gz_testauto.cli.main import main
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
file, out, metrics = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
with contextlib.redirect_stdout(sys.stderr):
    assert main(["run", file, "--out", str(out), "--simulator", "embedded", "--workers", "1"]) == 0
with ResultStore.read(CampaignDirectory(out)) as store:
    for record in store.results().trials:
        print(record.trial, "recording", recording_bits(store.trajectory(record)))
        for name in metrics:
            print(record.trial, name, repr(record.metrics[name]))
print((out / "worlds" / "worlds.json").read_text())
"""


def test_recorded_values_use_no_function_that_is_chosen_by_the_processor():
    chosen = [
        f"{path.relative_to(SOURCE)}:{number}"
        for folder in FOLDERS
        for path in sorted((SOURCE / folder).rglob("*.py"))
        if path.relative_to(SOURCE).as_posix() not in EXCEPTIONS
        and "simulators/gazebo" not in path.as_posix()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if CHOSEN_BY_PROCESSOR.search(line)
    ]
    assert chosen == []


@pytest.mark.slow
def test_trials_and_worlds_have_the_same_bits_on_another_processor(tmp_path):
    from gz_testauto.metrics.interface import builtin_metrics

    if len({printed(one, PRODUCT) for one in PROCESSORS}) == 1:
        pytest.skip("the installed BLAS has no kernels with different bits for this processor")
    timed = ("cycle_", "real_time_factor")
    names = [
        one.name
        for one in builtin_metrics()
        if not one.name.startswith(timed) and one.name not in FITTED
    ]
    campaign = ROOT / "config" / "smoke_campaign.yaml"
    results = []
    for processor in PROCESSORS:
        out = tmp_path / processor["OPENBLAS_CORETYPE"]
        results.append(printed(processor, TRIALS, campaign, out, *names).splitlines())
    assert len(results[0]) > len(names)
    assert results[0] == results[1]


def printed(processor, script, *arguments):
    """Return what a script prints in a process with the libraries of a processor."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(
        command,
        env={**os.environ, **processor},
        capture_output=True,
        timeout=300,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
