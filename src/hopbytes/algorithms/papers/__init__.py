"""Algorithms that exist only to repeat the experiments of papers; no preset uses them."""
