"""Generated files are replaced only if they change."""

from pathlib import Path


def put(path: Path, text: str) -> None:
    """Write a file unless it has this text already, so that Sphinx reads again only what has changed."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
