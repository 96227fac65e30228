"""Generators of communication graphs: one family per file (see base.py)."""
