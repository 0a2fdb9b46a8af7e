"""Words that name what cannot be taken back, in command lines of services and in the names of tools."""

from typing import Final

DESTRUCTIVE: Final = frozenset(
    "delete del destroy destroyed remove rm terminate purge prune wipe erase drop drain evict uninstall unpublish reset "
    "flush forget expunge deregister revoke disable stop kill shutdown poweroff reboot rollback cordon deactivate detach "
    "suspend abandon rmi undeploy truncate unlink empty clear nuke down rmdir decommission deletion deleteall removeall "
    "trash obliterate discard overwrite unset unregister unassign disassociate unschedule rmr rb revert scratch "
    "yank unmount unseal seal rekey failover retire dispose ban unban force halt expire undefine hibernate "
    "leave restart pause rotate regenerate invalidate archive block downgrade evacuate taint switchover quarantine cancel "
    "reinstall rebuild recreate reprovision unlock detonate sinkhole decrypt unprotect".split()
)
PUBLISHING: Final = frozenset("publish deploy release promote merge transfer".split())
EXPOSING: Final = (
    # permissions given away, in the words of AWS, Google Cloud, Azure, Kubernetes
    "put-bucket-policy put-bucket-acl put-object-acl put-public-access-block authorize-security-group-ingress create-access-key "
    "attach-user-policy attach-role-policy put-user-policy add-user-to-group create-login-profile update-login-profile "
    "modify-db-instance modify-instance-attribute set-iam-policy add-iam-policy-binding make-public chmod acl iam "
    "clusterrolebinding rolebinding set-visibility allow-all assign-role role-assignment update-assume-role-policy "
    "add-permission share-snapshot modify-snapshot-attribute modify-image-attribute run-instances purchase-reserved-instances-offering setacl "
    "request-spot-fleet create-keys print-access-token get-secret-value get-login-password get-session-token dump-secrets"
).split()
CHANGING: Final = frozenset(
    "update modify put change set replace restore create add attach associate authorize import migrate resize scale grant send "
    "publish invoke upgrade apply patch edit rename move transfer assign reserve purchase buy register allocate request accept "
    "approve promote switch renew install submit write setacl execute call trigger enable start run reset link adopt sync upsert mv rb mb "
    "up deallocate maintenance ssh launch provision convert swap fork share invite charge refund pay enroll wipe lock".split()
)
"""Of a cloud: what costs, or changes what others use."""
OWN_SETTINGS: Final = frozenset(
    "config configure auth login logout init account context contexts version help completion topic feedback components sso "
    "interactive alias aliases plugins plugin switch whoami sts dev local emulators".split()
)
"""The first word of a cloud's program: it is about the program itself, or about this machine."""
LOOKING: Final = frozenset(
    "get list ls describe show view logs log explain status info inspect ps top diff plan validate help version template "
    "search events history stat stats du df whoami can-i auth dry-run lint check test fmt format doctor env-list images "
    "read cat head tail tree find query count watch wait port port-forward cluster-info api-resources api-versions lint "
    "preview render output graph providers outputs config-view completion cost export-list dashboard open browse scan".split()
)
FLAGS: Final = frozenset(
    "--delete --purge --prune --destroy -destroy --delete-branch --force-delete --remove-orphans --delete-data --wipe "
    "--remove --all-collections --force-destroy --privileged --replicas=0 --reset --prod --production --force-conflicts "
    "--acl=public-read --public --visibility=public --yes-i-really-mean-it --delete-destination --with-decryption".split()
)
FLAG_VALUES: Final = frozenset(
    (("--visibility", "public"), ("--acl", "public-read"), ("--acl", "public-read-write"), ("--replicas", "0"), ("--size", "0"),
     ("--desired-count", "0"), ("--num-nodes", "0"), ("--pid", "host"), ("--net", "host"), ("--network", "host"),
     ("--delete-destination", "true"), ("--min", "0"), ("--desired-capacity", "0"), ("--default-action", "Allow"), ("--public-access", "blob"), ("--public-access", "container"))
)  # fmt: skip
