"""Every number a placement is judged by, beside what the launcher would have done and pure chance."""
