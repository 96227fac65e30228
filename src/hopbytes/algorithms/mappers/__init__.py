"""Algorithms that place tasks: one file each."""
