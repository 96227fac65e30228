"""What a mapping costs: objectives, metrics, and the time of its messages."""
