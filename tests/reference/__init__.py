"""Reference implementations in plain Python of the kernels whose results are defined; tests compare both.

They are slow and simple. Their signatures are those of the compiled core (arrays are passed in and filled,
and counts are returned).
"""
