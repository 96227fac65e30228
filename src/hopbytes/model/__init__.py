"""The nouns: communication graph, allocation, mapping, and what each PE may hold."""
