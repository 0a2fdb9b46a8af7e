"""What the name of a tool says about it: its words, and which kind of arguments it takes."""

from functools import lru_cache
from typing import Final, Literal

from server.hooks.policy.redaction.words import words_of

Kind = Literal["shell", "sql", "redis", "code", "http", "words", "text", "other"]

_SHELL: Final = frozenset(
    "bash sh zsh shell exec execute command cmd terminal powershell pwsh spawn subprocess process ssh console run script batch container job task cron schedule scheduled make pod kubectl docker git npm helm terraform aws gcloud az cli adb comando ejecutar befehl ausfuhren ausfuehren commande executer esegui eseguire executar kommando polecenie komut komutu perintah".split()
)
_SQL: Final = frozenset(
    "sql postgres postgresql mysql mariadb sqlite sqlite3 db database oracle bigquery snowflake redshift duckdb clickhouse mssql athena presto trino cypher neo4j cassandra cql spanner supabase mongo mongodb".split()
)
_REDIS: Final = frozenset("redis valkey memcached etcd".split())
_CODE: Final = frozenset(
    "python python3 ipython jupyter notebook javascript js node nodejs typescript perl php ruby rust r lua lisp osascript applescript eval repl interpreter playground code julia matlab groovy scala kotlin go java deno bun swift haskell elixir cell csharp cs dotnet cpp clang evaluate".split()
)
_HTTP: Final = frozenset(
    "http https request requests fetch curl rest api webhook graphql url elasticsearch opensearch".split()
)
_WORDS: Final = frozenset(
    "delegate agent assistant voice intent subagent sub instruct ask prompt conversation goal order todo home alexa siri".split()
)
_TEXT: Final = frozenset(
    # they work on a text; nothing in it is done
    "explain summarize summarise translate count format lint diff compare draft note notes remember speak say tts speech render "
    "highlight tokenize embed classify describe define spell grammar rewrite paraphrase proofread convert transform parse validate "
    "check test analyze analyse search find lookup grep glob list read get show view query_docs preview simulate estimate quote plan "
    "calculate calculator regex tag bookmark label reminder joke poem slide image picture draw generate log memory save".split()
)


@lru_cache(maxsize=2048)
def kind_of(tool: str) -> Kind:
    words = set(words_of(tool))
    first = words_of(tool)[:1]
    if first and first[0] in (
        "explain",
        "format",
        "lint",
        "search",
        "find",
        "count",
        "diff",
        "translate",
        "summarize",
        "validate",
        "convert",
    ):
        return "text"
    if any(part in tool for part in ("命令", "コマンド", "команд", "명령")):
        return "shell"
    if words & _REDIS:
        return "redis"
    if words & {"voice", "assistant", "agent", "intent", "delegate"}:
        return "words"
    if words & _CODE and not words & {"shell", "bash", "review", "search"}:
        return "code"
    if words & _SQL:
        return "sql"
    if words & _SHELL:
        return "shell"
    if words & _HTTP:
        return "http"
    if words & _WORDS:
        return "words"
    if words & _TEXT:
        return "text"
    return "other"


# verbs → a reason. In tools' names, in the languages that people write tools in; tokens are folded to plain letters.
_VERBS: Final[dict[str, str]] = {
    **dict.fromkeys(
        "delete del deletes remove removes destroy drop erase wipe purge truncate terminate unlink rm rmdir rmtree nuke expunge obliterate shred "
        "uninstall deprovision decommission deregister evict prune flush reset format reformat factory trash discard clear empty "
        "bulkdelete deleteall deletemany unpublish revoke ban kick expel fire dismiss forget undeploy rollback revert overwrite "
        # German, French, Spanish, Italian, Portuguese, Dutch, Polish, Turkish, Russian, Indonesian
        "loschen loesche loschung loeschen entfernen entferne vernichten leeren zurucksetzen formatieren formatiere deinstallieren widerrufen uberschreiben "
        "supprimer supprime effacer efface vider formater detruire reinitialiser desinstaller ecraser "
        "eliminar elimina borrar borra vaciar formatear destruir restablecer desinstalar sobrescribir suprimir "
        "cancellare cancella eliminare svuotare formattare distruggere excluir exclui apagar apaga remover esvaziar formatar "
        "verwijderen verwijder wissen usun skasuj wyczysc sil temizle bicimlendir удалить удали стереть сотри очистить форматировать hapus".split(),
        "deletes or resets",
    ),
    **dict.fromkeys(
        "pay payment payments payout payouts transfer wire remit refund buy purchase checkout donate withdraw invest trade sell bid subscribe tip spend bet "
        "loan mortgage lend charge invoice_pay topup recharge gift send_money place_order "
        "uberweisen ueberweisen uberweisung bezahlen bezahle kaufen kaufe bestellen bestelle spenden "
        "payer paie acheter achete commander virement virer pagar paga comprar compra transferir pedir donar "
        "pagare comprare acquistare ordinare bonifico betalen kopen bestel zaplac kup заплатить оплатить купить перевести bayar".split(),
        "spends money",
    ),
    **dict.fromkeys(
        "shutdown poweroff reboot restart halt kill stop suspend hibernate pkill hochfahren herunterfahren neustarten neustart abschalten ausschalten beenden eteindre redemarrer arreter apagar-x reiniciar detener spegnere riavviare".split(),
        "stops something",
    ),
    **dict.fromkeys(
        "unlock disarm entriegeln entriegle aufschliessen aufsperren deverrouiller desbloquear sbloccare ontgrendel odblokuj offnen oeffnen unbolt".split(), "opens what is locked"
    ),
    **dict.fromkeys("deactivate disable deaktivieren desactiver desactivar disattivare unregister unsubscribe detach mute_all blockieren sperren".split(), "switches something off"),
    **dict.fromkeys("publish deploy release broadcast tweet retweet toot announce veroffentlichen publier publicar pubblicare livestream golive".split(), "puts something into the world"),
    **dict.fromkeys("sign resign quit terminate_contract accept agree approve hire marry kundigen kundige kuendigen unterschreiben unterzeichnen signer resilier firmar firmare vote elect nominate".split(), "binds the user"),
    **dict.fromkeys("grant promote elevate impersonate sudo chown chmod rotate merge invite_all".split(), "changes rights"),
    **dict.fromkeys("insulin offboard esign deposit flash reflash overclock detonate launch ignite dump exfiltrate inject spam flood ddos".split(), "cannot be taken back"),
}  # fmt: skip
_CJK: Final[tuple[tuple[str, str], ...]] = (
    ("删除", "deletes"), ("刪除", "deletes"), ("清空", "deletes"), ("格式化", "formats"), ("卸载", "removes"), ("销毁", "destroys"), ("重置", "resets"), ("恢复出厂", "resets"), ("抹掉", "deletes"), ("移除", "removes"),
    ("转账", "spends money"), ("轉帳", "spends money"), ("汇款", "spends money"), ("付款", "spends money"), ("支付", "spends money"), ("购买", "spends money"), ("下单", "spends money"), ("提现", "spends money"), ("充值", "spends money"),
    ("关机", "stops something"), ("重启", "stops something"), ("开锁", "opens what is locked"), ("解锁", "opens what is locked"), ("撤防", "opens what is locked"), ("发布", "puts something into the world"), ("群发", "puts something into the world"), ("停用", "switches something off"), ("注销", "closes an account"), ("销户", "closes an account"),
    ("削除", "deletes"), ("消去", "deletes"), ("初期化", "resets"), ("フォーマット", "formats"), ("送金", "spends money"), ("振込", "spends money"), ("購入", "spends money"), ("決済", "spends money"), ("解錠", "opens what is locked"), ("再起動", "stops something"), ("シャットダウン", "stops something"), ("退会", "closes an account"), ("解約", "closes an account"), ("公開", "puts something into the world"), ("アンインストール", "removes"),
    ("삭제", "deletes"), ("초기화", "resets"), ("포맷", "formats"), ("송금", "spends money"), ("이체", "spends money"), ("결제", "spends money"), ("구매", "spends money"), ("탈퇴", "closes an account"), ("잠금해제", "opens what is locked"), ("재부팅", "stops something"), ("종료", "stops something"), ("제거", "removes"),
)  # fmt: skip
_LOOKS: Final = frozenset(
    "list get show search find count describe explain read fetch query preview simulate plan estimate quote check is has can lookup "
    "view validate history status report schedule-x limits stats draft undo cancel_delete help info monitor watch track compare lists gets format-x "
    "explainer checker counter finder searcher viewer planner lister reader inspect".split()
)
_OBJECTS: Final = frozenset(
    "file files folder repository repo all everything account user users database table bucket volume disk contact contacts event events".split()
)
_MILD: Final[dict[str, frozenset[str]]] = {
    # words that are harmless beside these, since the thing is a text, a view or a plaything
    "format": frozenset("code date text json number time string sql xml csv markdown output phone currency table message html bytes size address name".split()),
    "formatter": frozenset(("",)),
    "drop": frozenset("last first na null nulls duplicates column columns down pin shadow".split()),
    "remove": frozenset("prefix suffix background noise duplicates whitespace accents item label tag reaction emoji bookmark stopwords html punctuation spaces emojis bg reminder favorite favourite like".split()),
    "removes": frozenset(("",)),
    "clear": frozenset("screen selection filter filters search terminal timer console display clipboard form cart-x".split()),
    "stop": frozenset("music timer playback recording playing alarm song video media audio speech listening watch stopwatch sound radio stream speaking tts navigation vacuum podcast audiobook".split()),
    "reset": frozenset("zoom view timer filter filters layout camera counter cursor selection".split()),
    "restart": frozenset("music song track video playback timer game".split()),
    "trade": frozenset("history log-x".split()),
    "charge": frozenset("status level car battery".split()),
    "launch": frozenset("app browser game editor application".split()),
    "release": frozenset("notes date note key mouse".split()),
    "sign": frozenset("language in up out".split()),
    "accept": frozenset("cookies suggestion".split()),
    "launch_app": frozenset(("",)),
    "discard": frozenset("draft".split()),
    "flush": frozenset(("logs",)),
    "cancel": frozenset(("",)),
    "delete": frozenset("draft line word character row-x selection reminder timer alarm note-x bookmark".split()),
    "empty": frozenset(("line",)),
    "merge": frozenset("cells pdf pdfs images lists dicts files audio video arrays objects json csv columns".split()),
    "trash": frozenset(("day", "schedule")),
    "kill": frozenset(("hum",)),
    "rotate": frozenset("image photo picture page pdf video text log-x screen camera".split()),
    "disable": frozenset("notifications captions subtitles dark light mode snooze".split()),
    "tip": frozenset("calculator calculate".split()),
    "subscribe": frozenset("calendar topic feed channel events".split()),
    "transfer": frozenset("style learning call-x limits".split()),
    "order": frozenset("by sort".split()),
    "invest": frozenset(("",)),
    "loan": frozenset("calculator calculate".split()),
    "mortgage": frozenset("calculator calculate rate".split()),
    "invoice": frozenset(("",)),
    "dump": frozenset("json state schema stack yaml threads".split()),
    "approve": frozenset(("",)),
    "spam": frozenset("mark report as check filter".split()),
    "vote": frozenset("poll-x".split()),
    "suspend": frozenset(("",)),
}  # fmt: skip


@lru_cache(maxsize=2048)
def judge_name(tool: str) -> str | None:
    """Why a tool of this name is asked about whatever its arguments; None: its name says nothing."""
    for sign, reason in _CJK:
        if sign in tool and not any(
            looking in tool for looking in ("查询", "查看", "列表", "历史", "検索", "一覧", "履歴", "조회", "목록")
        ):
            return reason
    words = words_of(tool.rsplit("__", 1)[-1] if "__" in tool else tool)
    if not words:
        return None
    if words[0] in _LOOKS or (
        len(words) > 1
        and words[0] not in _TAKES_AWAY
        and words[-1]
        in (
            "history",
            "status",
            "limits",
            "schedule",
            "report",
            "preview",
            "help",
            "info",
            "log",
            "list",
            "search",
            "query",
            "stats",
            "settings",
            "calculator",
            "quote",
            "draft",
        )
    ):
        return None
    if any(word in _LOOKS for word in words[:2]) and words[0] not in _VERBS:
        return None
    for at, word in enumerate(words):
        if word not in _VERBS:
            continue
        others = {*words[:at], *words[at + 1 :]}
        if others & _MILD.get(word, frozenset()):
            continue
        if word == "format" and not others & {
            "disk",
            "drive",
            "volume",
            "partition",
            "usb",
            "card",
            "sd",
            "device",
            "storage",
        }:
            continue
        if word in (
            "order",
            "charge",
            "sign",
            "launch",
            "accept",
            "approve",
            "merge",
            "clear",
            "release",
        ) and at not in (0, len(words) - 1, 1):
            continue
        return _VERBS[word]
    joined = set(words)
    for pair, reason in _PAIRS:
        if pair <= joined:
            return reason
    return None


_TAKES_AWAY: Final = frozenset(
    "clear delete wipe erase remove purge reset destroy drop truncate empty forget disable".split()
)
_PAIRS: Final[tuple[tuple[frozenset[str], str], ...]] = tuple(
    (frozenset(pair.split()), reason)
    for pair, reason in (
        ("close account", "closes an account"), ("close ticket-x", ""), ("cancel subscription", "cancels"), ("cancel booking", "cancels"), ("cancel flight", "cancels"), ("cancel order", "cancels"), ("cancel reservation", "cancels"), ("cancel appointment", "cancels"), ("cancel all", "cancels"), ("cancel insurance", "cancels"), ("cancel contract", "cancels"),
        ("power off", "stops something"), ("shut down", "stops something"), ("shut off", "stops something"), ("turn off alarm", "switches the alarm off"), ("cut power", "stops something"), ("log out all", "ends sessions"), ("sign out all", "ends sessions"), ("end all", "ends all"), ("force quit", "stops something"),
        ("alarm off", "switches the alarm off"), ("camera off", "switches the camera off"), ("cameras off", "switches the cameras off"), ("alarm disable", "switches the alarm off"), ("security off", "switches the alarm off"), ("detector off", "switches a detector off"), ("smoke disable", "switches a detector off"), ("freezer off", "spoils food"), ("fridge off", "spoils food"), ("heating off-x", ""),
        ("open gate", "opens the house"), ("open door", "opens the house"), ("open garage", "opens the house"), ("open safe", "opens the safe"), ("open valve", "lets out gas or water"), ("open lock", "opens the house"), ("valve open", "lets out gas or water"), ("gas on", "fire"), ("door open", "opens the house"), ("garage open", "opens the house"), ("gate open", "opens the house"), ("valve set", "lets out gas or water"), ("valve main", "shuts off water"),
        ("oven on", "heat without anybody there"), ("stove on", "heat without anybody there"), ("oven set", "heat without anybody there"), ("start oven", "heat without anybody there"), ("preheat oven", "heat without anybody there"), ("heater on", "heat without anybody there"), ("iron on", "heat without anybody there"), ("sauna on", "heat without anybody there"), ("fireplace on", "fire"), ("grill on", "fire"), ("ofen an", "fire"), ("herd an", "fire"), ("start car", "starts a car"), ("start engine", "starts an engine"), ("car start", "starts a car"), ("engine start", "starts an engine"), ("start mower", "starts a machine"),
        ("send email", "sends mail in the user's name"), ("send mail", "sends mail in the user's name"), ("gmail send", "sends mail in the user's name"), ("email send", "sends mail in the user's name"), ("mail send", "sends mail in the user's name"), ("outlook send", "sends mail in the user's name"), ("reply all", "sends mail to many"), ("forward email", "sends mail on"), ("email forward", "sends mail on"), ("forward mail", "sends mail on"), ("reply email", "sends mail in the user's name"), ("send newsletter", "sends mail to many"), ("send campaign", "sends mail to many"), ("campaign start", "sends mail to many"), ("send fax", "sends in the user's name"), ("send letter", "sends in the user's name"), ("send invoice", "sends in the user's name"), ("auto forward", "sends mail on"), ("forwarding set", "sends mail on"), ("bulk sms", "costs, and speaks to many"), ("bulk send", "speaks to many"), ("bulk email", "speaks to many"), ("mass email", "speaks to many"), ("mass message", "speaks to many"), ("call emergency", "calls for help"), ("emergency call", "calls for help"), ("dial emergency", "calls for help"), ("sos send", "calls for help"), ("post facebook", "speaks in public"), ("post twitter", "speaks in public"), ("post instagram", "speaks in public"), ("post linkedin", "speaks in public"), ("post reddit", "speaks in public"), ("post review", "speaks in public"), ("post tweet", "speaks in public"), ("social post", "speaks in public"), ("post social", "speaks in public"), ("submit review", "speaks in public"), ("post public", "speaks in public"), ("press release", "speaks in public"), ("create tweet", "speaks in public"), ("tweet post", "speaks in public"), ("post status", "speaks in public"), ("post mastodon", "speaks in public"), ("post bluesky", "speaks in public"), ("upload youtube", "speaks in public"), ("upload video", "speaks in public"),
        ("place order", "spends money"), ("create order", "spends money"), ("order food", "spends money"), ("order pizza", "spends money"), ("order taxi", "spends money"), ("order item", "spends money"), ("order product", "spends money"), ("create payment", "spends money"), ("send money", "spends money"), ("send crypto", "spends money"), ("send bitcoin", "spends money"), ("send payment", "spends money"), ("send funds", "spends money"), ("send eth", "spends money"), ("book flight", "spends money"), ("book hotel", "spends money"), ("book ticket", "spends money"), ("book train", "spends money"), ("book taxi", "spends money"), ("book ride", "spends money"), ("book table-x", ""), ("book trip", "spends money"), ("flight book", "spends money"), ("hotel book", "spends money"), ("ride request", "spends money"), ("request ride", "spends money"), ("reserve hotel", "spends money"), ("create charge", "spends money"), ("charge card", "spends money"), ("charge customer", "spends money"), ("stock order", "spends money"), ("order stock", "spends money"), ("crypto swap", "spends money"), ("swap tokens", "spends money"), ("stake tokens", "spends money"), ("apply loan", "binds the user"), ("loan apply", "binds the user"), ("direct debit", "spends money"), ("standing order", "spends money"), ("create mandate", "spends money"), ("renew subscription", "spends money"), ("start subscription", "spends money"), ("create subscription", "spends money"), ("terraform apply", "changes infrastructure"), ("infra apply", "changes infrastructure"), ("upgrade plan", "spends money"), ("auto pay", "spends money"), ("gift card", "spends money"), ("wallet send", "spends money"), ("bank send", "spends money"),
        ("share file", "shows a file to others"), ("share folder", "shows files to others"), ("share public", "shows files to others"), ("make public", "shows to everybody"), ("set public", "shows to everybody"), ("set visibility", "changes who can see it"), ("change visibility", "changes who can see it"), ("share location", "tells where the user is"), ("share screen", "shows the screen"), ("share drive", "shows files to others"), ("share document", "shows a file to others"), ("share album", "shows pictures to others"), ("export contacts", "gives contacts away"), ("export passwords", "gives passwords away"), ("export keys", "gives keys away"), ("export users", "gives away who the users are"), ("export vault", "gives passwords away"), ("export secrets", "gives secrets away"), ("get secret-x", ""),
        ("set permissions", "changes rights"), ("set permission", "changes rights"), ("change permissions", "changes rights"), ("update permissions", "changes rights"), ("add admin", "gives rights away"), ("make admin", "gives rights away"), ("create admin", "gives rights away"), ("add collaborator", "gives rights away"), ("add member", "gives rights away"), ("add user", "makes an account"), ("create user", "makes an account"), ("create token", "makes a credential"), ("create api key", "makes a credential"), ("create access key", "makes a credential"), ("create iam", "gives rights away"), ("assign role", "gives rights away"), ("add role", "gives rights away"), ("set role", "gives rights away"), ("attach policy", "gives rights away"), ("put policy", "gives rights away"), ("set policy", "gives rights away"), ("firewall set", "weakens protection"), ("firewall off", "weakens protection"), ("firewall rule", "changes the firewall"), ("firewall allow", "weakens protection"), ("open port", "opens the machine to others"), ("port forward-x", ""), ("change password", "may lock somebody out"), ("set password", "may lock somebody out"), ("update password", "may lock somebody out"), ("change email", "may lock somebody out"), ("transfer ownership", "gives away what is the user's"), ("change owner", "gives away what is the user's"), ("set owner", "gives away what is the user's"), ("block user", "locks somebody out"), ("lock user", "locks somebody out"), ("lock account", "locks somebody out"), ("freeze account", "locks somebody out"), ("lock out", "locks somebody out"), ("update dns", "may take a site down"), ("set dns", "may take a site down"), ("dns update", "may take a site down"), ("dns set", "may take a site down"), ("change nameservers", "may take a site down"), ("branch protection", "changes protection"), ("remote wipe", "deletes a device"), ("install package-x", ""), ("install plugin", "runs a stranger's code"), ("install extension", "runs a stranger's code"), ("install app", "runs a stranger's code"), ("run installer", "runs a stranger's code"), ("install apk", "runs a stranger's code"), ("firmware update", "cannot be taken back"), ("update firmware", "cannot be taken back"), ("ota update", "cannot be taken back"), ("flash firmware", "cannot be taken back"), ("scale down-x", ""), ("scale zero", "stops something"), ("force push", "overwrites what others have"), ("archive repository", "freezes a repository"), ("archive project", "freezes a project"), ("archive all", "puts all away"), ("move all", "moves all"), ("replace all", "overwrites"), ("bulk update", "changes many"), ("bulk edit", "changes many"), ("update all", "changes all"), ("mass update", "changes many"), ("restore backup", "overwrites what is there"), ("backup restore", "overwrites what is there"), ("restore snapshot", "overwrites what is there"), ("restore database", "overwrites what is there"), ("import overwrite", "overwrites what is there"),
        ("submit form-x", ""), ("submit tax", "binds the user"), ("submit return", "binds the user"), ("file tax", "binds the user"), ("submit application", "binds the user"), ("submit order", "spends money"), ("submit payment", "spends money"), ("submit claim", "binds the user"), ("accept offer", "binds the user"), ("accept contract", "binds the user"), ("accept terms", "binds the user"), ("book surgery", "binds the user"), ("drone takeoff", "flies"), ("drone launch", "flies"), ("trigger alarm", "alarms people"), ("trigger siren", "alarms people"), ("alarm trigger", "alarms people"), ("emergency stop", "stops something"), ("set thermostat-x", ""), ("trigger pipeline-x", ""), ("production deploy", "puts something into the world"),
        ("remote lock", "locks somebody out"),
        ("logout everywhere", "ends sessions"),
        ("logout all", "ends sessions"),
        ("update phone", "may lock somebody out"),
        ("ssh key", "lets somebody in"),
        ("security group", "may open the machine to others"),
        ("open firewall", "opens the machine to others"),
        ("expose port", "opens the machine to others"),
        ("go live", "speaks in public"),
        ("reply review", "speaks in public"),
        ("run migration", "changes a database"),
        ("migrate database", "changes a database"),
        ("power cycle", "stops something"),
        ("resize disk", "changes a disk"),
        ("top up", "spends money"),
        ("confirm order", "spends money"),
        ("book appointment", "binds the user"),
        ("reserve table", "binds the user"),
        ("rent car", "spends money"),
        ("call uber", "spends money"),
        ("call taxi", "spends money"),
        ("file taxes", "binds the user"),
        ("boiler off", "heat goes off"),
        ("breaker off", "stops something"),
        ("mute alarm", "switches a guard off"),
        ("silence alarm", "switches a guard off"),
        ("call police", "calls for help"),
        ("call ambulance", "calls for help"),
        ("dispatch ambulance", "calls for help"),
        ("cnc start", "starts a machine"),
        ("laser start", "starts a machine"),
        ("start laser", "starts a machine"),
        ("write eeprom", "cannot be taken back"),
        ("drone fly", "flies"),
        ("fly drone", "flies"),
        ("konto loschen", "closes an account"), ("konto schliessen", "closes an account"), ("vertrag kundigen", "ends a contract"), ("tur offnen", "opens the house"), ("tuer oeffnen", "opens the house"), ("alarm aus", "switches the alarm off"), ("compte fermer", "closes an account"), ("fermer compte", "closes an account"), ("cerrar cuenta", "closes an account"), ("cuenta cerrar", "closes an account"), ("abrir puerta", "opens the house"), ("ouvrir porte", "opens the house"), ("alarma desactivar", "switches the alarm off"),
    )
    if reason
)  # fmt: skip
