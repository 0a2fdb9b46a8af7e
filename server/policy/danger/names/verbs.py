"""Words of tools' names that take something away, spend, open or bind."""

from typing import Final

_BY_REASON: Final = {
    "deletes or resets": """
        delete del deletes remove removes destroy drop erase wipe purge truncate terminate unlink rm rmdir rmtree
        nuke expunge obliterate shred uninstall deprovision decommission deregister evict prune flush reset format
        reformat factory trash discard clear empty bulkdelete deleteall deletemany unpublish revoke ban kick expel
        fire dismiss forget undeploy rollback revert overwrite redact void unfollow seal unseal defriend abolish cull forfeit relinquish surrender unenroll unassign withdraw_all unshare removal deletion
    """,
    "spends money": """
        liquidate unstake airdrop chargeback prepay repay reimburse autopay overpay crowdfund wager gamble
        pay payment payments payout payouts transfer wire remit refund buy purchase checkout donate withdraw invest
        trade sell bid subscribe tip spend bet loan mortgage lend charge topup recharge gift
    """,
    "stops something": """
        drain failover switchover cordon quarantine throttle redeploy reprovision scale override bypass unplug
        shutdown poweroff reboot restart halt kill stop suspend hibernate pkill switchport blackhole
    """,
    "opens what is locked": "unlock disarm unbolt unlatch",
    "switches something off": "deactivate disable unregister unsubscribe detach block",
    "puts something into the world": "publish deploy release broadcast tweet retweet toot announce livestream golive",
    "binds the user": """
        enroll enrol consent notarize countersign esubmit petition resubscribe
        sign resign quit accept agree approve hire marry vote elect nominate
    """,
    "changes rights": "demote reassign deauthorize whitelist allowlist blacklist blocklist grant promote elevate impersonate sudo chown chmod rotate merge",
    "cannot be taken back": """
        prescribe administer dispense discharge anonymize anonymise pseudonymize bulk mass
        actuate evict expedite sideload jailbreak unblock
        insulin offboard esign deposit flash reflash overclock detonate launch ignite dump exfiltrate inject spam
        flood ddos cancel finalize deduct repossess garnish
    """,
}
VERBS: Final = {word: reason for reason, words in _BY_REASON.items() for word in words.split()}

_BESIDE: Final = {
    "format": "code date text json number time string sql xml csv markdown output phone currency table message html "
    "bytes size address name",
    "drop": "last first na null nulls duplicates column columns down pin shadow",
    "remove": "prefix suffix background noise duplicates whitespace accents item label tag reaction emoji bookmark "
    "stopwords html punctuation spaces emojis bg reminder favorite favourite like",
    "clear": "screen selection filter filters search terminal timer console display clipboard form",
    "scale": "weight body bathroom kitchen image photo picture font recipe text ui svg video map chart axis drawing pdf icon",
    "throttle": "download speed",
    "override": "style color colour theme css",
    "bulk": "search get list read lookup rename resize convert images photos export download tag label",
    "mass": "calculate converter body convert index",
    "drain": "pasta",
    "discharge": "rate battery",
    "stop": "music timer playback recording playing alarm song video media audio speech listening watch stopwatch "
    "sound radio stream speaking tts navigation vacuum podcast audiobook",
    "reset": "zoom view timer filter filters layout camera counter cursor selection",
    "restart": "music song track video playback timer game",
    "trade": "history",
    "charge": "status level car battery",
    "launch": "app browser game editor application",
    "release": "note notes date key mouse",
    "sign": "language in up out",
    "accept": "cookies suggestion",
    "discard": "draft",
    "flush": "logs",
    "delete": "draft line word character selection reminder timer alarm bookmark",
    "empty": "line",
    "checkout": "branch git commit repo code",
    "merge": "videos clips photos docs documents sheets layers cells pdf pdfs images lists dicts files audio video arrays objects json csv columns",
    "trash": "day schedule",
    "kill": "hum",
    "rotate": "image photo picture page pdf video text screen camera",
    "disable": "notifications captions subtitles dark light mode snooze",
    "tip": "calculator calculate",
    "cancel": "timer alarm reminder download upload search playback recording dialog edit selection draft snooze animation",
    "block": "text code quote ad ads time format size chain focus",
    "subscribe": "calendar topic feed channel events",
    "transfer": "style learning limits",
    "order": "by sort",
    "loan": "calculator calculate",
    "mortgage": "calculator calculate rate",
    "dump": "json state schema stack yaml threads",
    "spam": "mark report as check filter",
}
MILD: Final = {verb: frozenset(words.split()) for verb, words in _BESIDE.items()}
"""Beside these a verb is harmless: the thing is a text, a view or a plaything."""

NEEDING: Final = {"format": frozenset("disk drive volume partition usb card sd device storage".split())}
"""Without one of these a verb says nothing."""
LEADING: Final = frozenset(
    "order charge sign launch accept approve merge clear release scale mass bulk drain override discharge consent cancel block deposit factory gift tip bid trade".split()
)
"""As often a noun: verbs only as the first, the second or the last word."""
