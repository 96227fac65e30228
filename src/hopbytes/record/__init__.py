"""Records the messages that a running program sends."""
