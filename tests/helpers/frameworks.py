"""The Python that has PyTorch or JAX: the one that runs the tests, or one in an environment of their own."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

#: `.ci/frameworks` makes this environment.
ENVIRONMENT = Path(os.environ.get("HOPBYTES_TEST_FRAMEWORKS", "/opt/hopbytes-frameworks"))


def python_with(package: str) -> str | None:
    """Return the Python that has a package, None if there is none."""
    if importlib.util.find_spec(package) is not None:
        return sys.executable
    found = list(ENVIRONMENT.glob(f"lib/python*/site-packages/{package}/__init__.py"))
    return str(ENVIRONMENT / "bin" / "python") if found else None


needs_torch = pytest.mark.skipif(python_with("torch") is None, reason="PyTorch is not installed")
needs_jax = pytest.mark.skipif(python_with("jax") is None, reason="JAX is not installed")
