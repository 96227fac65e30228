"""Pages in a real browser: Chromium without a window, by Playwright; skipped where one of them is missing."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

#: Names under which distributions install Chromium.
NAMES = ("chromium", "chromium-browser", "google-chrome")


@dataclass
class Shown:
    """A page in a tab, what it said on the console, and what it asked for on the network."""

    tab: Any
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def open(self, path: Path) -> None:
        """Open a report."""
        self.tab.goto(path.as_uri())


@contextmanager
def browser() -> Iterator[Any]:
    """Start Chromium; skip the test if there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright (the extra test has it)")
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)}")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        try:
            yield started
        finally:
            started.close()


def shown_in(started: Any, **options: Any) -> Shown:
    """Return a new tab, whose messages and requests are noted."""
    tab = started.new_page(**{"viewport": {"width": 1280, "height": 900}, **options})
    shown = Shown(tab)
    tab.on("console", lambda message: shown.messages.append(f"{message.type}: {message.text}"))
    tab.on("pageerror", lambda error: shown.messages.append(f"error: {error}"))
    tab.on("request", lambda request: shown.requests.append(request.url))
    return shown
