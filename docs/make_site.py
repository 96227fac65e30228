"""Build the documentation: ``python docs/make_site.py [FOLDER]``, by default into build/site.

Warnings are errors. Nothing is fetched from a network. It needs the extra ``docs``.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main(arguments: list[str]) -> int:
    """Run Sphinx; return its exit code."""
    try:
        from sphinx.cmd.build import main as sphinx
    except ImportError:
        print("make_site: the documentation needs Sphinx: pip install '.[docs]'", file=sys.stderr)
        return 1
    folder = Path(arguments[0]) if arguments else ROOT / "build" / "site"
    settings = ["-W", "--keep-going", "-q", "-b", "html", "-c", str(ROOT / "docs")]
    code = sphinx([*settings, "-d", str(folder / ".doctrees"), str(ROOT), str(folder)])
    if code == 0:
        print(f"The documentation is {folder / 'index.html'}")
    return code


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
