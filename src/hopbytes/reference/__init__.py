"""Plain Python twins of the kernels that have a definition: slow and obvious, for tests to compare with.

Their signatures are those of the compiled core (arrays in, arrays filled, counts returned).
"""
