"""Takes secrets out of texts and structures, by the rules of two tables (`server/policy/tables/{secrets,issuers}.toml`).

The door is `server.policy.redaction.redact`; nothing here is imported before a policy names a handler that needs it.
"""
