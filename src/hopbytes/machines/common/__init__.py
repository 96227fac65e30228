"""What kinds of machines are made of: trees, tables, networks with a tree inside each node."""
