"""Generators of communication graphs, one family per file; base.py holds their base class."""
