"""What a placement is judged by: one objective per file (see base.py)."""
