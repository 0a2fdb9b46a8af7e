"""Which names promise a secret as their value.

password: people choose it, so it may be a plain word.
strong: what stands there is secret if it is not plainly something else.
weak: only if it looks as if it came from a random generator.
code: digits, such as a PIN.
"""

from functools import lru_cache
from typing import Final, Literal

from server.policy.redaction.words import words_of

Strength = Literal["password", "strong", "weak", "code"]

STRONG: Final = ("password", "strong")
_STRONG: Final = frozenset(
    # English, and how programs shorten it
    "password passwords passwd passwrd passphrase passphrases passcode pwd pwds pw pass psk psw secret secrets "
    "credential credentials creds apikey apikeys apitoken apisecret authtoken authkey accesstoken refreshtoken token "
    "kennw losung losungswort codewort schlusselwort "
    "requirepass masterauth geheimwort jeton privkey appkey nwkskey appskey rpcpass rpcpassword clientsecret privatekey secretkey accesskey masterkey userpass userpassword dbpass dbpassword dbpwd rootpw "
    "mysqlpassword pgpassword sshpass keypass storepass bindpw bindpass wifipass mnemonic "
    # German, French, Spanish, Portuguese, Italian, Dutch, Polish, Czech, Turkish, the Nordic languages, Indonesian
    "passwort passworte passworter passwoerter kennwort kennworte kennworter kennwoerter losungswort zugangscode zugangsdaten geheimnis "
    "motdepasse mdp contrasena contrasenas contrasenya senha senhas wachtwoord haslo heslo sifre parola parole "
    "losenord passord adgangskode salasana jelszo lozinka sandi motpasse parool geslo zaporka slaptazodis laluan psw zugangswort zugangspasswort paswoord kodeord losen tunnussana salasona contrasinal pasahitza fjalekalimi lykilord parolasi "
    "schlusselinhalt wiederherstellungscode wiederherstellungsschlussel notfallcode ersatzcode "
    # Russian, Ukrainian, Greek, Hebrew, Arabic
    "пароль пароли парола токен κωδικος סיסמה סיסמא المرور "
    # Chinese, Japanese, Korean, Thai: also as a part of a longer word, see below
    "密码 密碼 口令 令牌 密钥 密鑰 秘钥 パスワード 合言葉 비밀번호 암호 토큰 รหัสผ่าน".split()
)
_WITHIN: Final = (
    "密码",
    "密碼",
    "口令",
    "令牌",
    "密钥",
    "密鑰",
    "秘钥",
    "パスワード",
    "シークレット",
    "トークン",
    "加签",
    "գաղտնաբառ",
    "পাসওয়ার্ড",
    "پسورد",
    "συνθηματικ",
    "비밀번호",
    "비번",
    "암호",
    "รหัสผ่าน",
    "المرور",
    "السر",
    "סיסמה",
    "סיסמא",
    "ססמה",
    "رمز عبور",
    "گذرواژه",
    "पासवर्ड",
    "лозинк",
)
_COMPOUNDS: Final = {
    # ends of names that are written as one word: smtppassword, Datenbankkennwort, bottoken
    "password": tuple(
        "pw pwd passw password passwd storepass keypass passwort kennw kennwort kwort losungswort wachtwoord losenord passord adgangskode contrasena motdepasse".split()
    ),
    "strong": tuple(
        "apikey secretkey accesskey privatekey clientkey devicekey authtoken accesstoken apitoken bottoken passphrase secret "
        "netzwerkschlussel netzwerkschluessel zugangsschlussel zugangsschluessel geheimschlussel sicherheitsschlussel apischlussel "
        "wlanschlussel verschlusselungsschlussel freischaltcode zugriffsschlussel".split()
    ),
}
_BEFORE_KEY: Final = tuple(
    "api access secret private master encryption signing auth account storage shared deploy admin app service license webhook session subscription "
    "function decryption crypt hmac jwt ssh wallet wpa wlan wifi network".split()
)
_BEGINNINGS: Final = tuple(
    # of words for a password that take endings: lösenordet, şifreniz, hasłem, паролем
    "losenord passordet adgangskod salasana hasl sifre jelsz lozink heslo hesla парол contrasen wachtwoord".split()
)
_PAIRS: Final = frozenset(
    # two words that are one name
    {
        *((first, "key") for first in _BEFORE_KEY),
        *((first, last) for first in ("unseal", "recovery", "backup", "scratch", "emergency") for last in ("code", "codes", "key", "keys")),
        *(
            tuple(pair.split())
            for pair in (
                "pass word,pass phrase,pass code,seed phrase,recovery phrase,auth token,auth code,enable secret,key base,remember me,"
                "otp seed,totp seed,otp secret,totp secret,key material,security answer,secret answer,phrase secrete,palabra clave,parola chiave,palavra passe,cuvant cheie,кодовое слово,секретныи ключ,pre shared,signing salt,encryption salt,snmp community,password salt,preshared key,one time,mat khau,kata sandi,kod dostepu,de passe,cle api,clef api,clave api,chave api,"
                "api schlussel,api 钥,api キー,setup key,unseal key,key content,secret string,transaction key,wlan schlussel,wifi schlussel,netzwerk schlussel"
            ).split(",")
        ),
    }
)  # fmt: skip
SECOND_WORDS: Final = frozenset(pair[1] for pair in _PAIRS)
_WEAK: Final = frozenset(
    "key keys pat pwhash passhash auth authorization sid sess session sessionid sessid phpsessid jsessionid cookie cookies bearer jwt magic "
    "sig signature code otp nonce connect remember clave cle chave chiave llave schlussel schluessel klucz klic kljuc sleutel nyckel nokkel anahtar ключ ключа kunci 钥 キー tokens sas hash salt seed dsn authenticator "
    "webhook signing authenticity csrf csrftoken xsrf community ticket invite license licence b64 base64".split()
)
_CODES: Final = frozenset(
    "geheimzahl geheimnummer unlock passkey keycode doorcode gatecode entrycode accesscode unlockcode pin puk pins cvv cvc cvv2 cvc2 otp totp tan mtan passcode 验证码 験証コード 暗証番号 인증번호".split()
)

_KEY_HEADS: Final = frozenset(
    "cle clef clave chave chiave llave klucz klic kljuc ключ ключа sleutel nyckel nokkel anahtar".split()
)
_KEY_OF: Final = frozenset(
    # a key of which is a password: chiave di rete, clé Wi-Fi, ключ доступа
    "exportacion exportation esportazione cifrado chiffrement cifratura wifi fi wlan acces acceso acesso accesso rete red rede reseau securite seguridad seguranca sicurezza secrete secreta secreto segreta segreto dostepu доступа sieci siti".split()
)
_HEADS: Final = frozenset(
    # what qualifies them follows them: senha_banco, jeton_api, contrasena_wifi
    "contrasena senha mdp motdepasse jeton haslo heslo parola clave chave cle".split()
)
_WORDS_FOR_CODE: Final = frozenset("code codes kod kode kodi koodi codigo codice код cod".split())
_OPENED: Final = frozenset(
    # what a code opens, or proves
    "access alarm door gate lock unlock entry safe vault garage keypad keyless verification token otp sms mfa 2fa totp disarm panic duress master pairing "
    "setup homekit matter voicemail sim locker lockbox acceso accesso acces acesso zugang zutritt tur haus tor tresor entsperr alarma allarme "
    "porta puerta porte portail toegang adgang dostepu доступа домофона сигнализации".split()
)
_NOT_AT_THE_END: Final = frozenset(
    # `password_<this>` is about a secret, not one
    "required require requires needed min max minimum maximum length len policy policies hint hints count counts file "
    "files filename path paths dir dirs directory folder name names id ids url uri urls uris type types typ header headers "
    "field fields at date reset changed change expires expiry expired expiration expire exp ttl enabled disabled algorithm "
    "algo alg size bits rotation days hours seconds minutes ms s strength label labels placeholder prompt format regex "
    "pattern version ref refs reference arn limit limits budget usage used status state mode method methods authentication "
    "remaining per second login only exists set manager store storage provider source env var vars variable variables "
    "column index kind rules rule repeat confirmation text message error errors input output template description title "
    "doc docs page help link endpoint server host port user username email role roles scope scopes audience issuer claim "
    "claims prefix suffix map mapping list lists table class func function handler validator check checker checks parser "
    "lexer stream bucket counter ring pair press press up down left right cost price total".split()
)
_NOT_BEFORE_TOKEN: Final = frozenset(
    "next page previous prev continuation sync cursor pagination prompt completion total special max min num n input "
    "output cached reasoning js unknown pad eos bos sep mask stop start unexpected invalid change resume delta".split()
)
_CHOSEN: Final = frozenset(
    "password passwords passwd pwd pw pass passphrase psk passwort passworter kennwort motdepasse mdp contrasena senha wachtwoord "
    "haslo heslo sifre losenord passord adgangskode salasana jelszo lozinka sandi parola psw zugangswort zugangspasswort paswoord kodeord losen tunnussana salasona contrasinal pasahitza fjalekalimi lykilord parolasi пароль losung losungswort codewort kennw dbpass userpass wifipass".split()
)
_HASHES: Final = frozenset("hash hashed hashes md md5 sha sha1 sha256 sha512 digest ntlm".split())
_HASHED: Final = frozenset(
    "block tx transaction commit file content contents git tree parent state merkle image package integrity license body payload "
    "root data asset source code build lock url path query row schema config layer manifest object tip head".split()
)
_PLACES: Final = frozenset("next page previous prev continuation sync cursor pagination resume delta skip".split())
_NOT_BEFORE_KEY: Final = frozenset(
    "recv public pub cache primary foreign partition sort row map object registry translation i18n hot short host page group "
    "join lookup index dictionary dict json yaml hash range message event idempotency idempotence dedupe dedup "
    "metric label any arrow enter escape shift ctrl control alt caps tab function home end delete backspace sort composite "
    "candidate unique natural surrogate bucket etag lock mutex redis topic kafka config setting settings feature flag color".split()
)
_PROGRAMS: Final = frozenset(
    "vipw getpw gpasswd chgpasswd chpasswd smbpasswd htpasswd ldappasswd kpasswd yppasswd".split()
)
"""What keeps passwords, named after them."""
_ABOUT: Final = frozenset(
    "where how why what when who no has have is allow allows use uses without show hide need needs forgot forgotten change verify".split()
)


@lru_cache(maxsize=4096)
def strength_of(name: str) -> Strength | None:
    """None: nothing secret is promised."""
    if not name.isascii() and any(part in name for part in _WITHIN):
        return "password"
    words = tuple(word for word in words_of(name) if not word.isdigit()) or words_of(name)
    if words[-3:] == ("access", "key", "id") or words[-2:] in (
        ("session", "id"),
        ("secret", "id"),
        ("code", "verifier"),
    ):
        return "weak"
    if not words or len(words) > 12 or words[-1] in _NOT_AT_THE_END or words[0] in _ABOUT:
        return None
    if words[-1].isdigit() and len(words) > 1:
        words = words[:-1]
    last = words[-1]
    if last in _PROGRAMS:
        return None
    if last == "key" and "wireless" in words:
        return "password"
    if len(words) in (2, 3) and words[0] in _KEY_HEADS and words[-1] in _KEY_OF:
        return "password"
    if len(words) in (2, 3) and words[0] in _HEADS and strength_of(words[0]) and words[1] not in _HEADS:
        return strength_of(words[0])
    if last in ("hash", "hashes") and len(words) > 1 and words[-2] in _HASHED:
        return None
    if last in _HASHES and len(words) > 1 and _is_strong(words[:-1]):
        return "weak"
    if last == "token" and set(words) & _PLACES:
        return None
    if _is_code_of(words):
        return "code"
    if last in _CODES and last not in _STRONG:
        return "code"
    core = words
    while len(core) > 1 and core[-1] in _ADORNMENTS:
        core = core[:-1]
    if 1 < len(core) < len(words) and core[-1] in _HASHES and _is_strong(core[:-1]):
        return "weak"
    if _is_strong(words):
        last, words = core[-1], core
        if last == "token" and set(words) & _NOT_BEFORE_TOKEN:
            return "weak"
        is_chosen = (
            "motdepasse" in "".join(words)
            or last in _CHOSEN
            or last.endswith(_COMPOUNDS["password"])
            or _is_inflected(last)
            or words[-2:] in (("pass", "word"), ("pass", "phrase"), ("de", "passe"))
        )
        return "password" if is_chosen else "strong"
    if last in ("key", "keys") and set(words) & _NOT_BEFORE_KEY:
        return None
    if last in ("tokens", "session", "hash", "seed", "code", "tickets") and len(words) == 1:
        return "weak"
    return "weak" if last in _WEAK else None


def is_access_code(name: str) -> bool:
    """`alarm_code`, `codice di accesso`: what opens something, mostly digits."""
    return _is_code_of(words_of(name))


def _is_code_of(words: tuple[str, ...]) -> bool:
    if len(words) > 1 and words[-1] in _WORDS_FOR_CODE:
        return words[-2] in _CODES or words[-2] in _OPENED
    return len(words) in (2, 3) and words[0] in _WORDS_FOR_CODE and words[-1] in _OPENED


def names_secret(word: str) -> bool:
    """Whether it is a word for something secret, as labels and messages have it."""
    return strength_of(word) is not None


def _is_inflected(word: str) -> bool:
    return word.startswith(_BEGINNINGS) and len(word) <= 16


def _is_strong(words: tuple[str, ...]) -> bool:
    last = words[-1]
    if last in _STRONG or any(part in last for part in _WITHIN):
        return True
    if last not in _WEAK and (last.endswith(_COMPOUNDS["password"] + _COMPOUNDS["strong"]) or _is_inflected(last)):
        return True
    if len(words) > 1 and (words[-2], last) in _PAIRS:
        return True
    # mot de passe, secret_key_base, STRIPE_SECRET_LIVE, master_key_b64
    joined = "".join(words)
    if joined.endswith(
        ("motdepasse", "secretkeybase", "masterkeyb64", "sharedaccesskey", "serviceaccountkey", "smtpauth")
    ):
        return True
    return len(words) > 1 and last in _ADORNMENTS and _is_strong(words[:-1])


_ADORNMENTS: Final = frozenset(
    "decrypted cleartext clear db bd smtp ftp ldap mysql pg redis wifi wlan wpa root mail app sha256 keys live test prod production dev staging stage b64 base64 hex raw plain plaintext value old new current default root "
    "admin primary secondary base enc encrypted env b".split()
)
