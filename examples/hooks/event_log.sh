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
# Events hold what users say: who can read the file can read that. Without EVENT_LOG they go to
# standard error, and so into the server's log.

umask 077
[ -z "${EVENT_LOG:-}" ] || exec 2>>"$EVENT_LOG"

while IFS= read -r line; do
    case $line in
    '{"jsonrpc":"2.0","id":'*) id=${line#*'"id":'} id=${id%%,*} ;; # a call
    *) # a notification: {"jsonrpc":"2.0","method":"hook.runtime_event","params":{…}}
        event=${line#*'"params":'}
        printf '%s\n' "${event%\}}" >&2
        continue
        ;;
    esac
    case $line in
    *'"method":"hook.hello"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"name":"event-log"}}\n' "$id" ;;
    *) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}\n' "$id" ;;
    esac
done
