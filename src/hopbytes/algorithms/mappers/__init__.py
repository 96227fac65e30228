"""Algorithms that place tasks: one file each (see base.py)."""
