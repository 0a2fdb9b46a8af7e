"""Passwords further on in a sentence, on the line that answers, or known by their looks."""

import pytest

from server.policy.redaction.rules.password_looks import looks_chosen
from server.policy.redaction.scan import secrets_in
from tests.policy.redaction.trades.texts import clean, missed

SECRET = [
    ("borg key passphrase > vier kleine schweine pfeifen", "vier kleine schweine pfeifen"),
    ("u/p: anna/sellerie-8", "sellerie-8"),
    ('The password to the family account is "tigers and lilies"', "tigers and lilies"),
    ("band@x.example and the password's tambourine", "tambourine"),
    ("le mot de passe de la box est TournesolJaune", "TournesolJaune"),
    ("het wachtwoord is hagelslag met kleine h", "hagelslag"),
    ("salasana on karjalanpiirakka", "karjalanpiirakka"),
    ("a senha do wifi é pãodequeijo", "pãodequeijo"),
    ("das Passwort lautet weiterhin Mondschein", "Mondschein"),
    ("Kennwort Gäste-WLAN → Sommerwind", "Sommerwind"),
    ("Mật khẩu wifi: phobo123", "phobo123"),
    ("kata sandi wifi nasigoreng", "nasigoreng"),
    ("пароль от вайфая pelmeni2021", "pelmeni2021"),
    ("identifiant cathy37, mot de passe soleil.levant", "soleil.levant"),
    ("SSID „Swietlica”, hasło carretilla", "carretilla"),
    ("the passphrase for the backup disk: seven green bottles hanging", "seven green bottles hanging"),
    # asked and told
    ("> What is the guest password?\nlighthouse", "lighthouse"),
    ("ben 09:10\ngib pw bitte\nanna 09:12\ngurkensalat7", "gurkensalat7"),
    ("<kees> wie heeft de code van de serverruimte?\n<marit> 4471#, sinds maandag", "4471#"),
    ("Username\nanna\nPassword\ncorrecthorse", "correcthorse"),
    ("E-Mail: anna@x.example\nKennwort\nWiesenblume3", "Wiesenblume3"),
    ("the password, which she had minuted, is Marrow+Leek+Chard. Next item", "Marrow+Leek+Chard"),
    ("das Passwort vom Laptop ist immer noch Bocciakugel, großes B", "Bocciakugel"),
    ("la password del drive l'ho cambiata, adesso è tesi.finita.25", "tesi.finita.25"),
    ("Parola temporară pentru cont este Veverita_27.", "Veverita_27"),
    ("Mot de passe du lien : plan-de-travail-7", "plan-de-travail-7"),
    ("Mot de passe : reinette-grise", "reinette-grise"),
    ("密码由原来的八个八改为 Huiyi#2025!。", "Huiyi#2025!"),
    ("mdp lavande&cigales", "lavande&cigales"),
    ("Kassenschnitt, Passwort 000718", "000718"),
    ("disk password on the drive   bathroom Sink Philosopher 9", "bathroom Sink Philosopher 9"),
    # asked and told
    ("what's the password?\n\nQuorum-Not-Reached, with capitals", "Quorum-Not-Reached"),
    ("[18:24] Rory: gate code?\n[18:26] Hamish: 240824 wedding date", "240824"),
    ("Q: mot de passe ?\nR: canaille-Plus-75", "canaille-Plus-75"),
    # nobody writes it but as a password
    ("new wifi, then brother#22 and that worked", "brother#22"),
]
HARMLESS = [
    "L'ID della chiave è 9D3C11A7-5E0B-4C7E-8F10-2AA4190EF773.",
    'today he said my password was "very strong". Oh',
    "Using a password on the command line interface can be insecure.",
    "Password to use when connecting to server. If password is\nnot given it's solicited on the tty.",
    "usernamePassword(credentialsId: 'nexus-deploy', passwordVariable: 'P')",
    'c["Db:User"]!, c["Db:Password"] ?? throw new Exception("Db:Password fehlt")',
    "pass more arguments to probes",
    "> Warum heißt die Variable `secret`, wenn da nichts steht?\nGuter Punkt",
    "Username\nPassword\nSubmit",
    "what's the password?\nsorry",
    "Das Passwort ist ungültig. Het wachtwoord is verlopen. La contraseña es obligatoria.",
    "Expired API keys are kept for 60 days after the expiration",
    "Pass options to pod2mn, and Pass to `_create_rule2` the rest",
    "given to the AUTH command, if the methods allow it",
    "    if done: pass  # noqa:E701",
    "pass np.float32 to the loader",
    "flags to pass down to libxml2 XPath, and do not pass NULL/0 to memset",
    "required to pass \"make distcheck2\" to the build, or pass 'xy-77 1' as the name",
    "You can pass `base_url2`; this pass implements ObjC-ARC-2 analysis",
    "Your password is required, expired or wrong.",
    "The password must have 12 characters, e.g. no names.",
    "パスワードは8文字以上で入力してください。",
    "Passwort vergessen? Schreiben Sie an hilfe@verein.example",
    "password authentication failed for user svc-app-2 from db-prod-1",
    "class A:\n    password: SecretStr = Field(repr=False)",
    "what's the wifi password\nask at the bar",
    "wifi: AT&T, Fritz!Box, R&D",
    "pwd   xxsubtype",
    "port: 8443\npassword: (hidden)\nlistening port: 51820",
    "Passwort\nYusra;Amiri;7a;yusra.amiri;***",
]
NEAR_MISSES = [
    "user a, password b c ",
    "password for the wifi a ",
    "anna 09:12\npw?\n",
    "Username\na\nPassword\n",
    "password a, ",
    "password, which ",
    "the password a-b-c ",
    "password: a b c ",
    "pw?\n> ",
    "code?\n[1] a: ",
    "wifi a!b!c!",
]


@pytest.mark.parametrize("given", SECRET)
def test_what_is_said_is_taken_out(given: tuple[str, str]) -> None:
    assert missed(given) == []


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_only_about_passwords_stays(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize(
    ("value", "look"),
    [
        ("Wisteria&Gin42", 3),
        ("Nordsee-Krabbe74", 3),
        ("raspberry-jam-on-toast", 2),
        ("zebra", 1),
        ("db.example.com", 0),
        ("12:30", 0),
        ("UTF-8", 0),
        ("a_b", 0),
    ],
)
def test_looks_have_degrees(value: str, look: int) -> None:
    assert looks_chosen(value) == look


@pytest.mark.parametrize("piece", NEAR_MISSES)
def test_no_text_takes_more_than_linear_time(piece: str) -> None:
    secrets_in((piece * (65_536 // len(piece) + 1))[:65_536])
