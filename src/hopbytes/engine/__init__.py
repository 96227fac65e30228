"""The compiled search kernels (partitioning, refinement) with typed signatures; calls are interruptible.

The searches are heuristics whose results have no definition to compare with. Most of them therefore have no
reference implementation in ``tests/reference``; tests check properties of their results instead.
"""
