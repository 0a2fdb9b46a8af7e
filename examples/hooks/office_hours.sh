#!/bin/sh
# Approves: tools run only during office hours. Who approves decides about every tool, with
# the name and the arguments that would run; all approvers have to agree.
#
#   hooks:
#     processes:
#       office_hours:
#         enabled: true
#         command: [sh, office_hours.sh]
#         dir: examples/hooks
#         env: {OPENS: "8", CLOSES: "18"}
#         intercept: [approve_tool]
#
# An approver that fails, or says nothing, has said no: there is no need for `on_error: closed`.

answer() { # ID RESULT
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"
}

while IFS= read -r line; do
    # What a shell needs of the message stands at its beginning: {"jsonrpc":"2.0","id":7,"method":"hook.…"
    case $line in
    '{"jsonrpc":"2.0","id":'*) id=${line#*'"id":'} id=${id%%,*} ;;
    *) continue ;; # a notification
    esac
    case $line in
    *'"method":"hook.hello"'*) answer "$id" '{"name":"office-hours","canary":true}' ;; # test calls may come: no human is asked
    *'"method":"hook.approve_tool"'*)
        hour=$(date +%H)
        hour=${hour#0} # 08 is no octal number
        if [ "$hour" -ge "${OPENS:-8}" ] && [ "$hour" -lt "${CLOSES:-18}" ]; then
            answer "$id" '{"approved":true}'
        else
            answer "$id" '{"approved":false,"reason":"the office is closed"}'
        fi
        ;;
    *) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}\n' "$id" ;;
    esac
done
