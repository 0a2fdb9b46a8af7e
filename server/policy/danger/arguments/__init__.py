"""What the arguments of a call say: each kind of argument is read as what it is."""
