"""The progress bar: there when a stage takes long, never for a short run."""

import time

from hopbytes.report import progress


def test_a_stage_that_reports_once_is_shown_while_it_lasts(monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0.01)
    bar = progress._Bar()
    try:
        bar.report("level 1 of 2", 0, 3)
        end = time.monotonic() + 30
        while bar._progress is None and time.monotonic() < end:
            time.sleep(0.01)
        with bar._lock:
            assert bar._progress.tasks[0].description == "level 1 of 2"
        bar.report("level 2 of 2", 1, 3)
        assert (bar._progress.tasks[0].completed, bar._progress.tasks[0].total) == (1, 3)
    finally:
        bar.close()
    assert not bar._progress.live.is_started


def test_a_short_run_stays_silent(monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 60)
    bar = progress._Bar()
    bar.report("level 1 of 2", 0, 3)
    bar.close()
    assert bar._progress is None
    bar._timer.join(30)
    assert not bar._timer.is_alive()
