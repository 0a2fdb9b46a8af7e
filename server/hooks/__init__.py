"""Layer 2: programs that take part in turns, in child processes or in this one."""
