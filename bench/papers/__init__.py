"""What repeats tables and figures of papers."""
