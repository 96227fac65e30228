"""Algorithms that improve a placement: one file each."""
