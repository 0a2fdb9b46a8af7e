"""Orders in people's own words, as one agent gives them to another, in several languages.

Only what is asked for counts: questions about deleting, and what was deleted, do not.
"""

import re
from typing import Final

from server.policy.danger.anchored import Anchored
from server.policy.danger.arguments import keys
from server.policy.danger.arguments.call import Call

_ORDERS: Final = Anchored(
    (re.compile(shape, re.IGNORECASE), reason)
    for shape, reason in (
        # English
        (r"(?<!how to )(?<!how do i )(?<!what )\b(?:delete|erase|wipe|destroy|purge|uninstall|nuke|shred|get rid of|factory[- ]reset|throw away|empty (?:the |my )?(?:trash|bin|inbox|folder|account)|drop (?:the |all )?(?:table|database)|overwrite|format (?:the |my )?(?:\w+ )?(?:disk|drive|card|stick|usb))\b", "deletes"),
        (r"\b(?:remove|clear|cancel|close|terminate|revoke|deactivate|disable|unsubscribe|reset) (?:\w+ ){0,3}?(?:all|every|account|accounts|subscription|contract|contacts|files?|photos|messages|e?mails?|booking|flight|insurance|alarm|cameras?|password|users?|events?|order|backup|backups|firewall|database|logs)\b", "deletes or cancels"),
        (r"\b(?:send|transfer|wire|pay|move|donate|give)\b[^.?]{0,60}?(?:[$€£¥]|\b(?:euros?|dollars?|pounds?|usd|eur|chf|btc|bitcoin|eth|money|funds|balance|rent|bill|invoice)\b)", "spends money"),
        (r"\b(?:buy|purchase|order|book|subscribe to|sell|invest)\b (?:me |us )?(?:a|an|the|some|two|three|\d+|all|tickets?|this|my|it)\b", "spends money"),
        (r"\b(?:unlock|open) (?:the |my |all )?(?:\w+ )?(?:doors?|gates?|garage|house|safe|locks?|car|windows?)\b|\bdisarm\b|\b(?:turn|switch) off (?:the |all )?(?:\w+ )?(?:alarm|cameras?|security|smoke|detectors?|firewall|freezer|fridge|heating)|\b(?:turn|switch) on (?:the )?(?:oven|stove|heater|iron|gas)", "opens the house or stops its guards"),
        (r"\b(?:shut ?down|power off|reboot|restart) (?:the |all |my |every )?(?:\w+ )?(?:servers?|computer|machines?|system|cluster|router|database|everything|production|service|it)\b", "stops something"),
        (r"\b(?:post|tweet|publish|announce|share)\b[^.?]{0,40}\b(?:public|publicly|twitter|facebook|linkedin|instagram|everyone|everybody|online|reddit|blog|x)\b", "speaks in public"),
        (r"\b(?:e-?mail|write to|message|tell|text|notify|call)\b (?:all|every(?:one|body)?|the whole|my boss|the police|the press|112|911|999)\b", "speaks to many"),
        (r"\b(?:sign|accept) (?:the |this |my )?(?:contract|lease|agreement|offer|terms|loan)\b|\bresign\b|\bquit my job\b|\bhand in my notice\b|\bfire (?:him|her|them|every\w*|all|\w+ from)\b", "binds the user"),
        (r"\b(?:force[- ]push|push --force|merge (?:it|this) (?:in)?to (?:main|master|production)|deploy (?:\w+ ){0,3}(?:to )?prod(?:uction)?)\b", "changes what others have"),
        (r"\bdeleting (?:all|every\w*|them|it)\b|\breset (?:the |my )?(?:\w+ ){0,2}(?:router|phone|device|computer|laptop|tablet|password|server|database)\b", "deletes or resets"),
        (r"\b(?:send|tell|give|forward|share|email)\b[^.?]{0,30}\b(?:password|passwords|pin|credentials|api keys?|private key|credit card|bank details)\b", "gives secrets away"),
        (r"\b(?:give|grant) (?:\w+ ){1,4}(?:admin|root|access|rights|permissions?)\b|\bmake (?:\w+ ){1,4}(?:public|an? admin\w*)\b|\bshare (?:my |the )?(?:password|keys?|credentials|location)\b", "gives access away"),
        (r"\b(?:remove|clean (?:up|out)|clear(?: out)?|sweep|get rid of|throw out|trim|prune|reclaim)\b[^.?!]{0,60}\b(?:unused|old|stale|everything|whatever|anything|all|every|duplicates?|orphan\w*|looks|inactive)\b", "deletes"),
        (r"\b(?:download|fetch|curl|wget|get)\b[^?]{0,120}\b(?:execute|run|install|launch|start) (?:it|them|that|this)\b|\b(?:execute|run|install) [^?]{0,60}https?://|\bwith (?:sudo|root|admin)\b|\b(?:do not|don't|without) ask\w*\b|\bignor(?:e|ing) (?:all |the |any )?(?:warnings?|errors?|safety|checks?)\b", "acts without asking, or runs a stranger's code"),
        (r"\b(?:sign|register|enrol|apply) (?:me|us) (?:up )?(?:for|in)\b|\b(?:confirm|accept|decline|reject) (?:all|every|the|their|his|her)\b|\bmake (?:a |the )?(?:payment|reservation|booking|purchase)\b|\bsubmit (?:the |my |our )\b", "binds the user"),
        # German
        (r"\b(?:lösch|loesch|entfern|vernicht|formatier|überschreib|deinstallier|leere?\b|wirf)\w*\b(?!\s*\?)|setz\w* .{0,40}zurück|\bzurücksetzen\b", "deletes"),
        (r"\b(?:überweis|ueberweis|bezahl|kauf|bestell|buch|spend|verkauf|zahl)(?:e|t|en|st)?\b", "spends money"),
        (r"\b(?:entriegel|entsperr|aufschließ|aufsperr)\w*|\böffn\w* .{0,30}(?:tür|tor|garage|haus|safe)|(?:tür|tor|garage|haus)\w* .{0,30}\böffn|alarm\w* .{0,20}(?:aus|ab)|(?:schalt|stell)\w* .{0,30}alarm\w* .{0,10}(?:aus|ab)|kamera\w* .{0,12}\baus", "opens the house or stops its guards"),
        (r"\b(?:kündig|storniere?)\w*|\b(?:fahr|schalt)\w* .{0,40}(?:server|rechner|computer|anlage|system).{0,20}(?:herunter|runter|aus|ab)\b|\bneustart\w*|\bveröffentlich\w*|\bunterschreib\w*", "ends, stops or publishes"),
        # French
        (r"\b(?:supprim|effac|détrui|écras|désinstall|formate[rz]?\b|formatte|vide[rz]?\b)\w*|\bréinitialis\w*", "deletes"),
        (r"\b(?:vire[rz]?|virement|transfèr\w*|transfér\w*|pay(?:e|er|ez)|paie\w*|achèt\w*|achet\w*|command(?:e|er|ez)|réserv(?:e|er|ez)|vend(?:s|re|ez))\b(?! de l)", "spends money"),
        (r"\b(?:déverrouill|désarm|désactiv)\w*|\bouvr\w* .{0,24}(?:porte|portail|garage|maison)|\bétein\w* .{0,30}(?:alarme|serveur|caméra)|\b(?:résili|annul|redémarr|publi(?:e|er|ez)\b|arrêt(?:e|er|ez) .{0,20}serveur)\w*", "opens, stops or ends"),
        # Spanish, Portuguese, Italian
        (r"\b(?:borr(?:a|ar|e|en)|elimin(?:a|ar|e|en|are)|formate(?:a|ar|e)|vac[ií](?:a|ar|e)|suprim(?:e|ir)|destru(?:ye|ir)|desinstal(?:a|ar)|restablec(?:e|er)|sobrescrib\w*|apag(?:a|ar|ue) .{0,40}(?:arquivo|ficheiro|tudo|todas|todos|conta|fotos|mensagens)|exclu(?:a|ir)|cancell(?:a|are)|svuot(?:a|are)|formatt(?:a|are)|distrugg\w*|delet(?:a|ar))\b", "deletes"),
        (r"\b(?:transfier\w*|transfer(?:ir|e|a|ire)\b|transfira|pag(?:a|ar|ue|are|hi)\b|compr(?:a|ar|e|are|i)\b|env[ií]a .{0,30}(?:euros|dinero|pesos|dólares)|invia .{0,30}(?:euro|soldi)|reserv(?:a|ar)\b|pide\b|acquist\w*|ordin(?:a|are)\b|vend(?:e|er|ere|i)\b|bonific\w*|mand(?:a|e) .{0,20}(?:euros?|dinero|dinheiro|reais))", "spends money"),
        (r"\b(?:desbloque\w*|abr(?:e|ir|a) .{0,20}(?:puerta|porta|portão|garaje|garagem|casa)|apri .{0,20}(?:porta|cancello|garage|casa)|desactiv\w*|desativ\w*|disattiv\w*|disinserisc\w*|sblocc\w*|desarm\w*|apaga .{0,20}(?:alarma|servidor|cámaras)|deslig\w* .{0,20}(?:alarme|servidor|câmeras)|spegn\w* .{0,20}(?:allarme|server)|reinici\w*|riavvi\w*|public(?:a|ar|are|o)\b|firm(?:a|ar|are) .{0,16}contra\w*|cancel(?:a|ar) .{0,24}(?:suscripci|contrato|cuenta|assinatura|conta)\w*|cierra .{0,12}cuenta)", "opens, stops or ends"),
        # Dutch, Polish, Turkish
        (r"\b(?:verwijder|wis\b|wissen|formatteer|koop|bestel|betaal|ontgrendel|usuń|skasuj|wyczyść|sformatuj|przelej|kup\b|zapłać|odblokuj|sil\b|biçimlendir|satın al|gönder .{0,20}(?:tl|lira|para))\w*", "deletes or spends money"),
        # Russian, Ukrainian
        (r"(?:^|\W)(?:удали|сотри|стере|уничтож|отформатир|форматир|очисти|сброс|деинсталлир|видали|зітри)\w*", "deletes"),
        (r"(?:^|\W)(?:переведи|перечисли|оплати|заплати|купи|закажи|отправь .{0,30}(?:рубл|деньг|евро|доллар)|перекажи)\w*(?!\s+(?:на|с) \w+ский)", "spends money"),
        (r"(?:^|\W)(?:разблокируй|открой .{0,20}(?:дверь|ворота|гараж)|отключи .{0,20}(?:сигнализац|камер|охран|сервер)|выключи .{0,20}(?:сервер|сигнализац|компьютер)|перезагрузи|опубликуй)\w*", "opens or stops"),
        # Chinese, Japanese, Korean
        (r"(?:删除|刪除|删掉|清空|清除所有|格式化|卸载|销毁|抹掉|恢复出厂|重置|移除所有)(?!了|的|过)", "deletes"),
        (r"(?:转账|轉帳|转给|汇款|付款|支付|购买|买(?:一|两|三|\d)|下单|充值|订(?:机票|酒店|票)|转(?:\d|一|两|三|五|十).{0,8}(?:元|块|万)|把.{0,12}钱转|卖出)", "spends money"),
        (r"(?:开锁|解锁|把.{0,6}门.{0,2}开|门.{0,3}打开|打开.{0,6}(?:门|车库|保险)|撤防|关闭.{0,8}(?:警报|报警|摄像|监控|防火墙|服务器)|关掉.{0,8}(?:警报|报警|摄像|监控|服务器)|关机|重启|注销|取消.{0,6}(?:订单|订阅|合同)|发布|群发|退订)", "opens, stops or ends"),
        (r"(?:削除|消去|消して|初期化|フォーマット|アンインストール|抹消)(?!され|した|済|方法|とは)", "deletes"),
        (r"(?:送金|振り込|振込|支払って|購入|買って|注文|予約して|決済|課金)(?!方法|とは|履歴)", "spends money"),
        (r"(?:解錠|鍵を開け|ドアを開け|扉を開け|警報.{0,6}(?:解除|切|止)|アラーム.{0,4}解除|シャットダウン|再起動|電源を切|停止して|解約|退会|公開して|投稿して)", "opens, stops or ends"),
        (r"(?:삭제|지워|초기화|포맷|제거해|송금|이체|결제|구매|주문해|사 ?줘|잠금.{0,3}해제|문.{0,4}열어|경보.{0,4}(?:해제|꺼)|종료해|재부팅|해지|탈퇴|게시해)", "deletes, spends or opens"),
        # Arabic, Hindi, Vietnamese, Indonesian
        (r"(?:احذف|امسح|حذف جميع|حوّل|ادفع|اشتر|افتح الباب|हटा(?:ओ|एं| दो| दें)|मिटा|भेजो .{0,20}रुपये|xóa|chuyển .{0,20}(?:tiền|đồng)|định dạng|mở khóa|hapus|transfer .{0,20}(?:rupiah|uang)|bayar|beli )", "deletes or spends money"),
    )
)  # fmt: skip
_QUESTIONS: Final = re.compile(
    r"^\s*(?:how|what|why|when|where|who|which|is|are|does|did|can you explain|explain|wie|was|warum|wann|wo|wer|welche|comment|pourquoi|quand|qu|cómo|como|qué|por qué|"
    r"read|list|summari[sz]e|find|show|count|check(?! ?out)|review|analy[sz]e|describe|identify|locate|inspect|compare|determine|verify|report|search|look up|tell me (?:how|what|why)|fasse|zeig|lies|such|finde|как|что|почему|怎么|如何|什么|为什么|どうやって|なぜ|어떻게)\b",
    re.IGNORECASE,
)
_THEN: Final = re.compile(r"\b(?:and|then|und|dann|et|puis|y|luego|e poi)\b|然后|并|そして|и затем", re.IGNORECASE)


_SAID: Final = frozenset("query prompt task instruction instructions goal request utterance objective text".split())
_FEW_WORDS: Final = 4
_PLAIN_WORD: Final = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*[.,;:!]?")
_MAX_CHARS: Final = 4000


def by_orders(call: Call, *, only_foreign: bool = False) -> str | None:
    """`only_foreign`: what begins with a plain letter may be a command line, and is left to others."""
    for key, value in call.leaves:
        if not isinstance(value, str) or (
            only_foreign and value.strip()[:1].isascii() and not (key in _SAID and is_said_by_people(value))
        ):
            continue
        if (key in keys.ORDERS or len(call.given) == 1) and (reason := judge_order(value)):
            return reason
    return None


def is_said_by_people(text: str) -> bool:
    """A sentence rather than a command line: several plain words, and letters that no program's name has or a capital."""
    words = text.split()
    return len(words) > _FEW_WORDS and all(_PLAIN_WORD.fullmatch(word) for word in words)


def judge_order(text: str) -> str | None:
    text = text[:_MAX_CHARS]
    if _QUESTIONS.match(text) and not _THEN.search(text):
        return None
    return _ORDERS.first(text)
