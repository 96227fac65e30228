"""The command line: each verb reads its options, makes one library call and prints the answer.

Importing this package imports the verbs but nothing heavy: NumPy, the compiled core and the tables
of rich are imported by the verb that needs them, so that ``hopbytes --help`` answers at once.
"""

from hopbytes.cli.app import app, main

__all__ = ["app", "main"]
