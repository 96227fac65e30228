"""matplotlib for the scripts that draw, or a sentence instead of a traceback where it is missing."""

from __future__ import annotations

import importlib.util
from typing import Any

MISSING = "pictures need matplotlib, which the extra 'plot' installs: pip install 'hopbytes[plot]'"


def there() -> bool:
    """Whether pictures can be drawn."""
    return importlib.util.find_spec("matplotlib") is not None


def check(wanted: object) -> None:
    """End the script at once, before hours of work, when a picture is wanted that cannot be drawn."""
    if wanted and not there():
        raise SystemExit(MISSING)


def pyplot() -> Any:
    """The module that draws, without a screen."""
    check(True)
    from matplotlib import use

    use("Agg")
    from matplotlib import pyplot as module

    return module
