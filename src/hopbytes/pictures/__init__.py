"""Pictures of patterns, machines and mappings: data of figures, and drawings of them."""
