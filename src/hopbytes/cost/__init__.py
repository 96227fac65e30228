"""The cost of a mapping: objectives, metrics, and the time of its messages."""
