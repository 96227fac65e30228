"""Text from outside: bounded and decompressed input, XML, YAML, host names, CPU lists, complete files."""
