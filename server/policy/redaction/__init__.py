"""Finds credentials in what tools take and give, and takes them out. Pure, and linear in the text's length."""
