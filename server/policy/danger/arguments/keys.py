"""Names under which tools expect what they do."""

from typing import Final

COMMANDS: Final = frozenset(
    "command cmd shell commands commandline run exec entrypoint statement bash argv args program executable cmdline "
    "shell_command pre post hook before after pre_hook post_hook precommand on_success on_failure action_command steps".split()
)
"""A command line, whatever the tool is called."""
NO_COMMANDS: Final = frozenset(
    "host cwd user container name message msg commit_message description cron workdir title comment label reason".split()
)
"""Beside a command line."""
PROGRAMS: Final = ("command", "cmd", "program", "executable", "file", "binary", "path")
ARGUMENTS: Final = ("args", "arguments", "argv", "params", "parameters")
"""A list of them stands beside its program."""
SQL: Final = frozenset("sql query statement statements queries cypher cql q script command body text stmt".split())
SAID_TO_BE_SQL: Final = ("sql", "statement", "stmt", "ddl")
NO_CODE: Final = frozenset("language timeout cwd description title filename path name".split())
CODE: Final = frozenset(
    "script code snippet macro lua groovy source cell program js javascript python ruby php perl expression expr eval src handler function_body plsql "
    "powershell apex soql applescript gremlin aql pipeline_script startup_script user_data userdata cloud_init inline".split()
)
"""A program, whatever the tool is called."""
ORDERS: Final = frozenset(
    "text task prompt instruction instructions goal order message query request command objective say utterance job input".split()
)
TEXTS: Final = frozenset(
    "text content contents body message query q title subject description pattern prompt note notes comment summary caption "
    "old new search label tags name question answer topic reason old_string new_string find replace value items item".split()
)
"""Prose: a command line that stands there is talked about."""
PATHS: Final = frozenset(
    "path file filename file_path filepath target destination dest dst to output output_path out name uri location into folder "
    "directory dir from source src".split()
)
CONTENTS: Final = ("content", "contents", "text", "data", "body", "new_content")
