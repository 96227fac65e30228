"""Algorithms that serve to reproduce the experiments of papers; no preset uses them."""
