"""The command line: each verb reads its options, makes one library call and prints the answer.

Importing this package imports no verb: NumPy, the compiled core, the verbs and the reports
are imported when a verb needs them, so that ``hopbytes --help`` answers at once.
"""

from __future__ import annotations

from hopbytes.cli.beginning import watch_for_interrupts

__all__ = ["main"]


def main() -> None:
    """Run the program with the process's arguments; never returns."""
    watch_for_interrupts()
    from hopbytes.cli.app import main as run

    run()
