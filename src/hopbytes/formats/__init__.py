"""File formats of patterns and mappings; finding, reading and writing them."""
