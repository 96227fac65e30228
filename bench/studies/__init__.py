"""Scripts that each answer one question."""
