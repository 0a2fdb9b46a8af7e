"""What the model can do: the tools, and the one chain that every call goes through."""
