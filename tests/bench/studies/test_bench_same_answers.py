"""Answers do not depend on the processor, on which the C library and NumPy choose how they compute."""

import os
import subprocess
import sys

import numpy as np
import pytest

from bench import ROOT
from bench.studies.same_answers import quick_cases

#: Prints a hash of results of the C library and of NumPy, some of which differ in the last bit without FMA.
FUNCTIONS = """
import hashlib, math, struct
import numpy as np
grid = [0.01 + i * 0.0137 for i in range(40000)]
values = [f(x) for f in (math.exp, math.log, math.sin, math.atan) for x in grid if x < 500]
print(hashlib.sha256(struct.pack(f"{len(values)}d", *values)).hexdigest())
print(hashlib.sha256(np.exp(np.array(grid[:30000])).tobytes()).hexdigest())
"""


def without_fused_operations():
    """Return the environment in which neither the C library nor NumPy uses FMA and AVX."""
    core = getattr(np, "_core", None) or np.core
    features = core._multiarray_umath.__cpu_features__
    dispatched = core._multiarray_umath.__cpu_dispatch__
    return os.environ | {
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-AVX,-FMA,-FMA4,-AVX2_Usable,-FMA_Usable",
        "NPY_DISABLE_CPU_FEATURES": " ".join(name for name in dispatched if features.get(name)),
    }


def child(environment, *arguments):
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


@pytest.mark.slow
def test_answers_without_fma_are_the_committed_ones():
    """More than a hundred runs in a process whose exponentials and logarithms differ in their last bits."""
    plain = without_fused_operations()
    if child(os.environ, "-c", FUNCTIONS) == child(plain, "-c", FUNCTIONS):
        pytest.skip("the C library and NumPy compute the same without FMA: no FMA here, or they use none")
    count = len(list(quick_cases()))
    assert count >= 100
    told = child(plain, "-m", "bench.studies.same_answers", "--quick")
    assert f"{count} cases, 0 differ" in told
