"""Hooks in child processes: kept alive, asked over JSON-RPC, recorded."""
