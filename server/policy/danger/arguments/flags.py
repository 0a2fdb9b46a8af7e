"""Single arguments that say more than the tool: switches, actions, who may see and do what."""

import re
from collections.abc import Iterator
from typing import Any, Final

from server.policy.danger.arguments.call import Call
from server.policy.danger.lexicon.meanings import meanings
from server.policy.danger.names.judge import judge_name
from server.policy.danger.names.kinds import kind_of
from server.policy.danger.verbs import DESTRUCTIVE
from server.policy.redaction.words import words_of

_LIVE: Final = frozenset("prod production live prd".split())
_ENVIRONMENT_KEYS: Final = frozenset(
    "track lane slot env environment stage target_env deploy_env target_environment tier workspace".split()
)
_READING: Final = frozenset(
    "report dashboard metrics explain diff preview get list read show describe query search find fetch logs log status view tail check count lookup".split()
)
_SKIPPING: Final = frozenset("bypass skip ignore override disable no without suppress force".split())
_SKIPPED: Final = frozenset(
    "check checks test tests validation confirm confirmation approval approvals safety backup backups verify verification limit "
    "limits review reviews snapshot lock locks protection quota policy hooks checksum signature".split()
)
_GUARDS: Final = frozenset(
    "mfa 2fa tfa encryption encrypted backup backups versioning monitoring logging audit firewall antivirus protection tls ssl "
    "deletion_protection security waf sandbox confirmation approval approvals recording verification authentication auth password_required".split()
)
_GUARD_STATES: Final = frozenset("enabled enable active on required is_enabled enforced mandatory".split())
_MONEY: Final = frozenset("spend spending budget cost costs price".split())
_CAPS: Final = frozenset("limit cap max maximum budget".split())
_KEPT: Final = frozenset("retention ttl expiry expiration keep".split())
_LOADING: Final = frozenset(
    "ld_preload ld_library_path dyld_insert_libraries pythonpath pythonstartup node_options bash_env prompt_command path "
    "git_ssh_command perl5opt rubyopt java_tool_options".split()
)
"""Variables that put other code into programs."""
_DRY: Final = (
    "dry_run dryRun dryrun dry simulate preview check_mode validate_only whatif what_if plan_only check_only draft is_draft noop explain"
).split()
_ABOUT: Final = ("policy", "name", "setting", "feature", "control", "rule", "service", "target", "key", "option")
_CHECKING: Final = frozenset("ansible playbook puppet salt".split())
_DOING: Final = ("send", "publish", "submit", "execute", "apply", "post")
_MODES: Final = ("mode", "modo", "modus", "status", "state", "action", "type")
_DRAFTS: Final = (("draft",), ("dry", "run"), ("dryrun",), ("preview",), ("simulate",), ("simulation",))
_TRYING: Final = frozenset((*_DRY, *_DOING, *_MODES, "check"))
"""One of these stands in a call that says that it only tries."""
_FORCING: Final = frozenset(
    "permanent permanently force overwrite recursive purge purge_disks hard hard_delete delete_extraneous delete_extra wipe "
    "skip_trash no_backup skip_backup no_confirm skip_confirmation destroy erase truncate factory_reset delete_source "
    "remove_source mirror_delete cascade delete_after force_delete delete_all allow_data_loss i_am_sure disable_safety "
    "ignore_safety clobber prune make_public public skip_final_snapshot replace_existing unsafe reset drop_existing "
    "if_exists_replace delete_missing delete_data kick discard_changes force_push rewrite_history no_undo irreversible replace all finalize irrevocable binding binding_offer privileged host_pid host_network hostpid hostnetwork allow_privileged "
    "is_admin is_superuser make_admin grant_admin".split()
)
_TAKING_AWAY: Final = (
    "delete_",
    "remove_",
    "wipe_",
    "erase_",
    "purge_",
    "destroy_",
    "terminate_",
    "revoke_",
    "unlock_",
    "disable_",
    "uninstall_",
    "reset_",
)
_UNASKED: Final = frozenset(
    "auto_approve auto_approved autoapprove yolo skip_permissions dangerously_skip_permissions bypass_permissions no_confirm yes_to_all full_auto auto_confirm".split()
)
_NEEDS_MORE: Final = frozenset("force recursive public prune reset all replace".split())
"""They only say something about a tool that acts."""
_ACTION_KEYS: Final = frozenset(
    "action operation op method verb mode service task event command intent type function request cmd mutation_type procedure "
    "transition".split()
)
_ACTIONS: Final = frozenset(
    "delete remove destroy drop erase wipe purge truncate terminate unlock disarm shutdown reboot restart poweroff kill stop "
    "reset factory_reset format uninstall revoke unlink rm ban publish pay transfer buy purchase dump_all refund sell disable "
    "deactivate empty clear_all delete_all remove_all overwrite force_push merge_to_main power_off halt open_door "
    "cancel_subscription close_account trash archive_all expel kick unsubscribe flush flushall flushdb mass_delete "
    "bulk_delete deleteone deletemany detonate withdraw rollback cancel approve merge deploy suspend drain failover promote sign "
    "vote accept bid donate redeem swap stake liquidate override bypass evict grant impersonate checkout place_order "
    "submit_order subscribe resign takeoff open_valve open_gate "
    "löschen supprimer eliminar borrar удалить 删除 削除 삭제".split()
)
_ACTING: Final = DESTRUCTIVE | frozenset(
    "set sync move copy write push update upload apply extract unzip install migrate save replace rename put deploy restore "
    "create bulk manage run chmod permissions share execute import edit unpack clone backup post configure transition close mark send adjust print clean cleanup".split()
)
_COMPARING: Final = frozenset("plan preview diff compare".split())
_MANY_COPIES: Final = 30
_COUNTS: Final = frozenset("replicas desired_count desired_capacity num_nodes instances".split())
_OVERWRITE_KEYS: Final = ("overwrite", "on_conflict", "if_exists", "conflict", "existing")
_OVERWRITES: Final = ("all", "overwrite", "replace", "always", "yes", "true", "force")
_SIGHT_KEYS: Final = ("visibility", "access", "acl", "sharing", "privacy", "audience")
_SEEN: Final = frozenset("visibility privacy sharing acl audience".split())
"""Parts of such names."""
_EVERYBODY: Final = frozenset(
    "public public_read everyone anyone anonymous external chiunque jeder anyone_can_view anyone_can_edit world anyone_with_link anyone_with_the_link public_read_write all".split()
)
_EXTENT_KEYS: Final = (
    "apply_to",
    "scope",
    "targets",
    "ids",
    "items",
    "services",
    "users",
    "selection",
    "extent",
    "match",
)
_EVERYTHING: Final = ("all", "*", "everyone", "everything", "tenant:*", "any")
_RIGHTS_KEYS: Final = ("role", "permission", "permissions", "access_level", "level")
_RIGHTS: Final = frozenset("admin owner administrator root superuser maintainer write_all full_control".split())
_FORWARDING: Final = frozenset("rule rules filter filters forwarding mail email inbox calls mailbox".split())
_ON: Final = re.compile(r"forward|redirect|delete|trash|discard", re.IGNORECASE)
_GIVING: Final = ("invite", "add", "set", "update", "create", "share", "change")


def is_dry(call: Call) -> bool:
    """The call says that it only tries, or that it writes a draft.

    A tool that runs programs is believed only what is meant for dry runs alone:
    `check` may ask for an error, and `send` be about something else.
    """
    given = call.given
    if _TRYING.isdisjoint(given):
        return False
    if any(given.get(key) is True for key in _DRY) or (given.get("check") is True and _CHECKING & set(call.words)):
        return True
    if kind_of(call.tool) in ("shell", "code", "sql", "redis"):
        return False
    if any(given.get(key) is False for key in _DOING):
        return True
    return any(isinstance(mode := given.get(key), str) and meanings(mode) in _DRAFTS for key in _MODES)


def by_flags(call: Call) -> str | None:
    words = call.words
    if _COMPARING & set(words):
        return None
    if _FORWARDING.intersection(words) and any(
        _ON.search(key) and value not in (False, None) for key, value in call.leaves
    ):
        return "sends on what comes in, or deletes it"
    context = frozenset((*words, *_named(call)))
    for key, value in call.leaves:
        name = "_".join(words_of(key))
        if not isinstance(value, str) and (reason := _by_guard(words, context, name, value)):
            return reason
        if value is True and name in _UNASKED:
            return "leaves nobody to ask"
        if value is True and name in _FORCING and (name not in _NEEDS_MORE or _ACTING & set(words)):
            return f"`{key}` is on"
        if name == "copies" and isinstance(value, int) and value > _MANY_COPIES:
            return "prints many copies"
        if value == 0 and value is not False and name in _COUNTS and (_ACTING | {"scale"}) & set(words):
            return "stops something"
        if (
            value in (True, "all", "*", "everything")
            and name not in _NEEDS_MORE
            and _takes_away(name)
            and kind_of(call.tool) != "text"
        ):
            return f"`{key}` is on"
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, str) and (reason := _by_value(call, key, name, item.strip().lower())):
                return reason
    return None


def _named(call: Call) -> Iterator[str]:
    """Words of what the call is about."""
    for key in _ABOUT:
        if isinstance(value := call.given.get(key), str):
            yield from meanings(value)


def _takes_away(name: str) -> bool:
    """`remove_existing`, `delete_after_revoke`"""
    return name.startswith(_TAKING_AWAY) and judge_name(name) is not None


def _by_guard(words: tuple[str, ...], context: frozenset[str], name: str, value: Any) -> str | None:
    """Checks that are skipped, guards that go off, backups that are kept for no time."""
    parts = frozenset(name.split("_"))
    if value is True and parts & _SKIPPING and parts & _SKIPPED:
        return f"`{name}` is on"
    is_guard = bool(parts & _GUARDS) or (name in _GUARD_STATES and not _GUARDS.isdisjoint(context))
    if (
        value is False
        and name == "private"
        and {"upload", "create", "publish", "push", "repo", "repository", "update", "set"}.intersection(words)
    ):
        return "shows to everybody"
    if value is None and parts & _MONEY and parts & _CAPS:
        return "spends without a limit"
    if value is False and is_guard and not _READING & set(words):
        return "switches a guard off"
    if value == 0 and value is not False and parts & _KEPT and not _READING & set(words):
        return "keeps nothing any more"
    return None


def _by_value(call: Call, key: str, name: str, value: str) -> str | None:
    words = call.words
    if value in ("0.0.0.0/0", "::/0") and not {"check", "describe"} & set(words):
        return "opens something to everybody"
    plain = value.replace("-", "_").replace(" ", "_")
    if plain in _UNASKED or plain in ("bypasspermissions", "danger_full_access"):
        return "leaves nobody to ask"
    if name in _ENVIRONMENT_KEYS and plain in _LIVE and not _READING & set(words):
        return "changes what others use"
    if (
        plain in _LOADING
        and name in ("name", "key", "variable", "var")
        and {"env", "environment", "variable", "setenv"} & set(words)
    ):
        return "puts other code into programs"
    if name in _ACTION_KEYS and plain in _ACTIONS and kind_of(call.tool) != "text":
        return f"`{key}` is {plain}"
    if name in _OVERWRITE_KEYS and plain in _OVERWRITES:
        return "overwrites"
    if (name in _SIGHT_KEYS or _SEEN & set(name.split("_"))) and plain in _EVERYBODY:
        return "shows to everybody"
    if "share" in words and plain in _EVERYBODY and plain != "all":
        return "shows to everybody"
    if (
        (plain == "*" or (name in _EXTENT_KEYS and plain in _EVERYTHING))
        and _ACTING & set(words)
        and not _READING & set(words)
    ):
        return "changes everything"
    if "docker.sock" in value or value.startswith("/:/"):
        return "reaches the host's files"
    if name in _RIGHTS_KEYS and plain in _RIGHTS and (_ACTING & set(words) or words[0] in _GIVING):
        return "gives rights away"
    return None
