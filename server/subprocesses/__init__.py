"""Child processes whose programs are not ours: begun, known with all that came of them, ended. Process hooks and MCP servers."""
