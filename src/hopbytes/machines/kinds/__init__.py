"""Kinds of machines, one per file, found by name."""
