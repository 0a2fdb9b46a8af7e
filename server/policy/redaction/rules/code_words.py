"""Words for codes, for what codes open, and for the codes that open nothing, in some twenty languages."""

import re
from typing import Final

CODE_ENDS: Final = tuple(
    "code codes kode koden kod kodu koda kodem kody koodi kood codice codul digicode passcode pincode".split()
)
"""Ends of words: Türcode, deurcode, Aktiveringskode, PIN-Code."""
NO_CODES: Final = tuple(
    "encode decode encodes decodes unicodes unicode bytecode opcode typecode errcode barcode qrcode shellcode geocode transcode sourcecode keycode charcode exitcode statuscode zipcode postcode "
    "vscode leetcode xcode retcode returncode codecode punycode errorcode errorcodes opcodes vcode codes.py recode microcode signcode fehlercode statuskode postkode felkode felkod podcode languagecode countrycode".split()
)
"""Ends of words that are no such code."""
CODES: Final = frozenset(
    "geheimzahl geheimnummer pin pina puk tan otp itan nip combination combo kombination combinaison combinazione kombinacja kombinace kombinasjon kombinasyon "
    "clave chave codi ontgrendelen unscharf tastenfeld keypad numerolukko startspärr sperre drossel szyfr szyfru cifra cijfercode passnumber mobiletan smstan pushtan passkey codeword kodunuz kodas".split()
)
FOREIGN_CODES: Final = tuple(
    "código códigos combinación šifra шифр код ключ-код пин-код пинкод пин κωδικό קוד رمز الرمز كود कोड 코드 인증번호 비밀번호 コード 認証番号 暗証番号 確認番号 検証番号 验证码 "
    "驗證碼 动态码 校验码 随机码 取件码 开门码 动态密码 随机密码 密码 密碼 暗証 รหัส mã jelkód kódot kód".split()
)
LOCK_ENDS: Final = tuple(
    # ends of words, too: Schlüsselsafe, sleutelkluis, Haustür, nøgleboks
    "lockbox keybox keysafe padlock keypad sselsafe schluesselsafe wandsafe minisafe tresor schloss schliessfach schließfach spind schlüsselbox schlüsselkasten schrank "
    "anlage tür haustür eingang hoftor gartentor rolltor garagentor schranke kluis kluisje sleutelkastje sleutelkast sleutelkastjes slot deur voordeur poort hek "
    "nøgleboks nøkkelboks nyckelskåp kassaskåp kodlås lukko lås tastenfeld tastatur sperre".split()
)
LOCKS: Final = frozenset(
    "barrier keypad knob safe door doors gate alarm lock locker garage entrance vault shed intercom buzzer bell doorbell opener unlock unlocks unset disarm disarms "
    "alarmanlage tastatur zahlenschloss handy tablet entsperren entsperrung "
    "porte portail portillon coffre coffre-fort cadenas alarme digicode interphone immeuble portier "
    "puerta portal candado caja taquilla alarma desbloquear "
    "porta portone cancello cassaforte lucchetto allarme cassetta citofono "
    "cofre cadeado alarme "
    "fietsslot slagboom "
    "drzwi sejf sejfu brama bramy furtka domofon klatka alarmu "
    "vchod trezor brana "
    "kapi kasa kilit alarm "
    "seif interfon "
    "ovi ovikoodi portti lukko "
    "larm larmet dörr porten".split()
)
FOREIGN_LOCKS: Final = tuple(
    "schlüsselsafe portón portão alarmă poartă startspärr fechadura kapı zámek zámku brána kłódk skříň kapu ajtó széf riasztó дверь двери подъезд домофон сейф замок замк калитк ворот сигнализац двер "
    "金庫 ロッカー 玄関 ドア 門 도어락 현관 금고 자물쇠 잠금 门禁 保险箱 保險箱 大门 门锁 باب خزنة דלת לובי שער כספת אזעקה πόρτα συναγερμ κλειδαρι θυροτηλέφωνο χρηματοκιβώτιο".split()
)
OPEN_NOTHING: Final = frozenset(
    "invoice rechnung booking buchung order bestell bestellung reservation reservierung ticket case vorgang model modell part batch lot charge test block abort airport aktions ape area artikel ascii bank bar barcode barras barres bic branch building by byte campaign catalog cause char character civil "
    "class clean client cliente close closing color colour cost couleur country coupon course cpt curl currency customer dead debug department diagnostic "
    "dial dialling discount dress dtc ean err! errno erro error errore event example exit fail failure farb fault fehler fiscal fiscale gutschein hs hsn "
    "http iata icao icd isbn iso key kunde kunden lang language legacy locale location machine message morse naf naics native npm op open ora our penal per "
    "plus plz post postal postleit product produkt promo promotion property pseudo python qr rabatt reason reference referral region response result return "
    "rückgabe sample scan siret site sort source sqlstate state station status store strich swift tariff tax this tracking travail trouble ufficio unicode "
    "unit upc vat voucher vs werbe with zip zustand".split()
)
"""What stands before the word for a code that is no secret: error code, zip code."""
OPENS_NOTHING_AFTER: Final = re.compile(
    r"[ -](?:(?:de|of|del|della|da|do|der|du|d'|für|for|des) ?)?(?:la |las |el |los |l'|die |das |the |a )?"
    r"(?:ufficio|agenzia|univoco|destinatario|amministra|postal|barras|barres|barra|conduct|review|reviews?|cliente?|client|produto|product|pays|país|couleur|color|colou?r|area|civil|penal|source|fiscal|fiscale|"
    r"base|path|point|page|block|coverage|style|freeze|owner|owners|snippet|generation|example|line|error|returned|was returned|promo|descuento|réduction|desconto|sconto|verhalten|"
    r"pocztowy|pocztowego|postcode|postale|abi|snap|host|count|header|assignment|mapping|collision|requests?|avviamento|iban|swift|bic)\b",
    re.IGNORECASE,
)

ENTERED: Final = frozenset(
    "press type enter dial punch opens open eingeben tippen wählen composez tapez saisissez digita digitare digitar digite comporre componi marca marque teclea pulsa introduce usa use wpisz wybierz toets intoetsen "
    "tast tasta zadejte nyomja girin put".split()
)
FOREIGN_ENTERED: Final = tuple(
    "naciśnij набрать наберите набери введите slå tuşlayın näppäile stlačte 输入 按 押".split()
)
"""Words before what is typed into a lock."""
