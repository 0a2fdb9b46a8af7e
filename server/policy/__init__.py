"""Tool policy: handlers before and after each tool call, as the operator and the user decided."""
