"""The benchmark's scripts are no package: its folder is put on the path, as running them does."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
