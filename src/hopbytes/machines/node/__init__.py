"""One node as its operating system knows it, and readers of what describes nodes."""
