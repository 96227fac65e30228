"""Where the repository, its examples, the small samples of the tests and the developers' samples are."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
EXAMPLES = ROOT / "examples"
HWLOC_SAMPLES = TESTS / "samples" / "hwloc"
GPU_SAMPLES = TESTS / "samples" / "gpus"
TORCH_SAMPLES = TESTS / "samples" / "torch"
#: The developers' folder of large samples. Tests marked `shared` need it, and are skipped without it.
SHARED = Path(os.environ.get("HOPBYTES_SHARED", ROOT.parent / "shared"))
SHARED_SAMPLES = SHARED / "samples"
#: The installed program.
PROGRAM = Path(sys.executable).parent / "hopbytes"


def hwloc_sample(name: str) -> str:
    """Path of one of the small hwloc files."""
    return str(HWLOC_SAMPLES / name)


def executable(path: Path, text: str) -> Path:
    """Write a program; return its path."""
    path.write_text(text)
    path.chmod(0o755)
    return path


def file_with(path: Path, content: str | bytes) -> Path:
    """Write a file; return its path."""
    if isinstance(content, str):
        path.write_text(content)
    else:
        path.write_bytes(content)
    return path
