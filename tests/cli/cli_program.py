"""Where the installed program and the examples are."""

import sys
from pathlib import Path

PROGRAM = Path(sys.executable).parent / "hopbytes"
EXAMPLES = Path(__file__).parents[2] / "examples"
