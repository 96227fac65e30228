"""General tools without knowledge of mapping: registries, options, argument checks, integers, deadlines."""
