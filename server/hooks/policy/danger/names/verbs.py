"""Words of tools' names that take something away, spend, open or bind, in the languages that people write tools in.

Letters are folded to plain ones: `löschen` is `loschen`.
"""

from typing import Final

_BY_REASON: Final = {
    "deletes or resets": """
        delete del deletes remove removes destroy drop erase wipe purge truncate terminate unlink rm rmdir rmtree
        nuke expunge obliterate shred uninstall deprovision decommission deregister evict prune flush reset format
        reformat factory trash discard clear empty bulkdelete deleteall deletemany unpublish revoke ban kick expel
        fire dismiss forget undeploy rollback revert overwrite loschen loesche loschung loeschen entfernen entferne
        vernichten leeren zurucksetzen formatieren formatiere deinstallieren widerrufen uberschreiben supprimer
        supprime effacer efface vider formater detruire reinitialiser desinstaller ecraser eliminar elimina borrar
        borra vaciar formatear destruir restablecer desinstalar sobrescribir suprimir cancellare cancella eliminare
        svuotare formattare distruggere excluir exclui apagar apaga remover esvaziar formatar verwijderen verwijder
        wissen usun skasuj wyczysc sil temizle bicimlendir удалить удали стереть сотри очистить форматировать hapus
    """,
    "spends money": """
        liquidate unstake airdrop chargeback prepay repay reimburse autopay overpay crowdfund wager gamble
        pay payment payments payout payouts transfer wire remit refund buy purchase checkout donate withdraw invest
        trade sell bid subscribe tip spend bet loan mortgage lend charge invoice_pay topup recharge gift send_money
        place_order uberweisen ueberweisen uberweisung bezahlen bezahle kaufen kaufe bestellen bestelle spenden
        payer paie acheter achete commander virement virer pagar paga comprar compra transferir pedir donar pagare
        comprare acquistare ordinare bonifico betalen kopen bestel zaplac kup заплатить оплатить купить перевести
        bayar
    """,
    "stops something": """
        drain failover switchover cordon quarantine throttle redeploy reprovision scale override bypass unplug
        shutdown poweroff reboot restart halt kill stop suspend hibernate pkill hochfahren herunterfahren neustarten
        neustart abschalten ausschalten beenden eteindre redemarrer arreter reiniciar detener spegnere riavviare
    """,
    "opens what is locked": """
        unlock disarm entriegeln entriegle aufschliessen aufsperren deverrouiller desbloquear sbloccare ontgrendel
        odblokuj offnen oeffnen unbolt
    """,
    "switches something off": """
        deactivate disable deaktivieren desactiver desactivar disattivare unregister unsubscribe detach mute_all
        blockieren sperren
    """,
    "puts something into the world": """
        publish deploy release broadcast tweet retweet toot announce veroffentlichen publier publicar pubblicare
        livestream golive
    """,
    "binds the user": """
        enroll enrol consent notarize countersign esubmit petition resubscribe
        sign resign quit terminate_contract accept agree approve hire marry kundigen kundige kuendigen
        unterschreiben unterzeichnen signer resilier firmar firmare vote elect nominate
    """,
    "changes rights": "demote reassign deauthorize whitelist allowlist blacklist blocklist grant promote elevate impersonate sudo chown chmod rotate merge invite_all",
    "cannot be taken back": """
        prescribe administer dispense discharge anonymize anonymise pseudonymize bulk mass
        actuate evict expedite sideload jailbreak unblock
        insulin offboard esign deposit flash reflash overclock detonate launch ignite dump exfiltrate inject spam
        flood ddos
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
    "order charge sign launch accept approve merge clear release scale mass bulk drain override discharge consent".split()
)
"""As often a noun: verbs only as the first, the second or the last word."""

_SIGNS: Final = {
    "deletes": "删除 刪除 清空 抹掉 削除 消去 삭제",
    "formats": "格式化 フォーマット 포맷",
    "removes": "卸载 移除 アンインストール 제거",
    "destroys": "销毁",
    "resets": "重置 恢复出厂 初期化 초기화",
    "spends money": "转账 轉帳 汇款 付款 支付 购买 下单 提现 充值 送金 振込 購入 決済 송금 이체 결제 구매",
    "stops something": "关机 重启 再起動 シャットダウン 재부팅 종료",
    "opens what is locked": "开锁 解锁 撤防 解錠 잠금해제",
    "puts something into the world": "发布 群发 公開",
    "switches something off": "停用",
    "closes an account": "注销 销户 退会 解約 탈퇴",
}
SIGNS: Final = [(sign, reason) for reason, signs in _SIGNS.items() for sign in signs.split()]
"""Of languages that put no space between words; found anywhere in a name."""
LOOKING_SIGNS: Final = ("查询", "查看", "列表", "历史", "検索", "一覧", "履歴", "조회", "목록")
