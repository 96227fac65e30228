"""Kinds of machines: one topology per file (see base.py)."""
