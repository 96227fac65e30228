"""``python -m hopbytes`` is the command line."""

from hopbytes.cli import main

main()
