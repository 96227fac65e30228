"""The data of every figure: pure functions from patterns and mappings to arrays; nothing here draws."""
