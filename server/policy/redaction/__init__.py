"""Takes secrets out of texts and structures, by the rules of two tables (`server/policy/tables/{secrets,issuers}.toml`).

The door is `server.policy.redaction.redact`; nothing here is imported before a policy names a handler that needs it.

- `redact(value)`, `redact_text(text)`, `redact_result(text)`: the same without its secrets, and how many of each kind
- `load_table(path)`: lays the operator's own table over ours, for the whole process; ConfigError where it is wrong
"""
