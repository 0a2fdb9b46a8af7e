"""Rates tool calls by what they would do, from the rules of one table (`server/policy/tables/danger.toml`).

The door is `server.policy.danger.judge`; nothing here is imported before a policy names a handler that needs it.

- `judge_call(tool, permission, arguments, *, destructive=None, table=None) -> Verdict`
- `Verdict(level, reason)`: level is "safe", "unknown" (nothing is known of the tool or program) or "dangerous"
- `command_name(tool, arguments, *, table=None) -> str | None`: "git push", where that may be remembered
- `is_worse_than_plain(tool, arguments, *, table=None) -> bool`: `git push --force` beside a remembered `git push`
- `load_table(path) -> DangerTable`: the built-in table with the operator's merged over it; ConfigError when it is wrong
"""
