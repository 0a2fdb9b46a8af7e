"""Words around what is told, by what they do in a sentence, in some twenty languages."""

import re
from typing import Final

STATES: Final = (
    # what a value follows: is, reads, stays, becomes, is called
    r"is|was|['’]s|reads|remains|stays|becomes|ist|war|wäre|sei|lautet|lautete|heißt|heisst|bleibt|wird|est|sera|était|reste|devient|c['’]est|es|sería|será|era|queda|sigue|é|ficou|fica|continua|è|sarà|resta|rimane|"
    r"wordt|blijft|luidt|heet|jest|brzmi|było|będzie|je|zní|bylo|bude|er|är|lyder|heter|hedder|blir|bliver|on|oli|este|je|jest|là|adalah|ialah|это|είναι|γίνεται|هي|هو|היא|הוא|है|називається"
)
STILL: Final = (
    # may stand between such a word and the value
    r"still|now|currently|again|always|just|simply|literally|also|really|actually|probably|only|noch|immer|weiterhin|jetzt|nun|aktuell|derzeit|wieder|einfach|momentan|seither|"
    r"toujours|encore|maintenant|désormais|actuellement|juste|simplement|siendo|todavía|ahora|actualmente|simplemente|solo|ainda|agora|atualmente|ancora|adesso|ora|attualmente|sempre|semplicemente|"
    r"nog|steeds|nu|gewoon|momenteel|nadal|wciąż|teraz|obecnie|po prostu|stále|teď|nyní|pořád|fortfarande|stadig|fortsatt|nå|edelleen|nyt|yhä|artık|hâlâ|теперь|сейчас|всё ещё|по-прежнему|просто"
)
SPELLED: Final = re.compile(
    # says how it is written, so that what stands before is no word of the sentence
    r"[\"'”»`*]?[ ,(–—-]{1,3}(?:(?:with|mit|met|avec|con|com|z|s|med|in|en|all|alles|alle|tout|tutto|todo|tudo|everything|a|an|one|ein|einem|un|una|une|to|the|each|both|und|and|no|ohne|sans|sin|sem|senza|bez|utan|uten|zonder|geen|без|с|w) ){0,3}"
    r"(?:capital|caps\b|lower-?case|upper-?case|small|klein|groß|gross|kleine?[nmr]?|hoofdletter|kleine|majuscule|minuscule|mayúscula|minúscula|maiúscula|maiuscol|minuscol|wielk|mał|dużą|versal|stor|litet|liten|"
    r"one word|ein wort|un mot|una palabra|una parola|zusammen|attaché|junto|junta|attaccato|aaneen|razem|dohromady|slitno|space|spaces|leerzeichen|gaps?\b|espace|espacio|spazi|umlaut|accent|akzent|bindestrich|hyphen|punkt|слитно|большой|маленьк|заглавн)",
    re.IGNORECASE,
)
USERS: Final = (
    # words for an account, a network or what one logs in to
    r"user|login|log-in|logon|signin|sign-in|account|acct|konto|benutzer|nutzer|kennung|anmeldung|anmeldename|compte|identifiant|utilisateur|usuario|usuário|cuenta|conta|utente|gebruiker|inlog|użytkownik|uživatel|"
    r"användare|bruger|bruker|käyttäjä|unilogin|логин|пользователь|учётк|ssid|wi-?fi|wlan|hotspot|netzwerk|netz\b|réseau|network|rete|netti|sieć|síť|nätverk|сеть|e-?mail|\bid\b"
)
THINGS: Final = (
    # what people have passwords for
    r"wi-?fi\w*|wlan|вай-?фа\w*|internet\w*|router\w*|laptop\w*|computer\w*|rechner\w*|pc|nas|server\w*|ordinateur|ordenador|ноутбук\w*|компьютер\w*|telefono?|telefoon|phone|handy|mobile|tablet\w*|ipad|"
    r"netflix|spotify|disney\w*|zoom|google|facebook|instagram|amazon|apple|dropbox|e-?mail\w*|mail\w*|почт\w*|portal\w*|moodle|drive|laufwerk|zip|pdf|archiv\w*|backup\w*|website|webseite|blog|wiki|cloud|drucker|printer|beamer|webinar|meeting|rete|red|rede|réseau|box|hotspot|gäste\w*|guest"
)
REPLIES: Final = frozenset(
    # what answers a question without telling anything
    "sorry thanks thank please moment maybe nothing unknown whatever dunno nope yeah sure okay alright hello which where who why what when someone nobody everyone everybody myself yourself another "
    "danke bitte gerne keine keiner welches welche welcher niemand vielleicht gleich moment weiß leider sicher natürlich hallo genau stimmt richtig falsch "
    "merci désolé désolée aucune aucun personne bonjour peut-être laquelle lequel gracias perdona ninguna ninguno quizás claro hola grazie nessuna nessuno forse certo ciao obrigado obrigada nenhuma talvez claro "
    "bedankt geen niemand misschien welke dzięki proszę żadne nikt może díky prosím žádné nikdo tack ingen kanske takk tak kiitos спасибо пожалуйста никто может какой извини "
    "testing forgot forgotten changed printed written upstairs downstairs tomorrow yesterday today later above below attached monday tuesday wednesday thursday friday saturday sunday".split()
)
