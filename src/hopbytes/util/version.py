"""The version of the package, in its only place; builds read it from here."""

__version__ = "0.1.0"
