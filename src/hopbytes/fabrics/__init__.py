"""Networks as their own tools describe them: parsers to plain data, without machines."""
