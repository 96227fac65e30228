"""Generators of communication graphs: one family per file."""
