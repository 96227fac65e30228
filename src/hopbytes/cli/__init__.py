"""The command line: each verb reads its options, makes one library call and prints the answer.

Importing this package imports no verb: NumPy, the compiled core, the verbs and the reports
are imported when a verb needs them, so that ``hopbytes --help`` answers at once.
"""

from hopbytes.cli.app import app, main

__all__ = ["app", "main"]
