"""Plain Python twins of the kernels that have a definition: slow, obvious, and what tests compare with.

Signatures are those of the compiled core (arrays in, arrays filled, counts returned).
"""
