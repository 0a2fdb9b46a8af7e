#!/bin/sh
# Observes: each event becomes a line of a file. It can change nothing, and holds nobody up.
#
#   hooks:
#     processes:
#       event_log:
#         enabled: true
#         command: [sh, event_log.sh]
#         dir: examples/hooks
#         env: {EVENT_LOG: /tmp/parley-events.jsonl}
#         observe: [turn_start, tool_exec_start, tool_exec_end, turn_end]
#
# Events hold what users say: who can read the file can read that.

: "${EVENT_LOG:?set it in env of the entry}"
umask 077

while IFS= read -r line; do
    case $line in
    '{"jsonrpc":"2.0","id":'*) # a call, and the only one that we get is hook.hello
        id=${line#*'"id":'}
        printf '{"jsonrpc":"2.0","id":%s,"result":{"name":"event-log"}}\n' "${id%%,*}"
        ;;
    *) # a notification: {"jsonrpc":"2.0","method":"hook.runtime_event","params":{…}}
        event=${line#*'"params":'}
        printf '%s\n' "${event%\}}" >>"$EVENT_LOG"
        ;;
    esac
done
