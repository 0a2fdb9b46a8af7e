"""What tools act on, in the languages that people write tools in; read like the verbs."""

from typing import Final

THINGS: Final = """
account: konto konten kontos benutzerkonto compte comptes cuenta cuentas conto conti conta contas аккаунт* счет* учетн* 账号 账户 帐户 帳號 アカウント 口座 계정 계좌 hesap hesabi
contract: vertrag* contrat contrats contrato* contratto contratti umow* smlouv* договор* контракт* 合同 契約 계약 sozlesme
lease: mietvertrag alquiler affitto huur* najem аренд* 租约 賃貸
subscription: abonnement* abos suscripcion abbonament* prenumerat* подписк* 订阅 サブスク 구독 abonelik
membership: mitglied* adhesion membresia lidmaatschap czlonk* членств* 会员 会員 회원
booking: buchung* reservierung* reserva reservas prenotazion* reservering* rezerwacj* rezervac* брон* 预订 予約 예약 rezervasyon
appointment: termin termine arzttermin rendezvous rdv cita citas appuntament* afspraak wizyt* встреч* запис 预约 予定 randevu
calendar: kalender* calendrier calendario kalendarz* календар* 日历 日程 カレンダー 캘린더 takvim
insurance: versicherung* assurance seguro seguros assicurazion* verzekering* ubezpiecz* страхов* 保险 保険 보험 sigorta
mail: mails email emails correo correos courriel courriels mel posta pec mejl epost eposta maila письм* почт* лист 邮件 郵件 メール 이메일 메일 البريد
message: nachricht* mensaje* mensagem mensagens messaggi* bericht berichten wiadomos* zprav* сообщени* повідомлен* 消息 信息 短信 メッセージ 메시지 문자 mesaj*
newsletter: rundbrief rundmail boletin infolettre рассылк* 群邮
money: geld argent dinero denaro dinheiro soldi pieniadze penize pengar деньги денег гроші 金钱 お金 돈
invoice: rechnung* facture* factura* fattur* fatura* factuur faktur* 发票 請求書 청구서
salary: gehalt* lohn* salaire* salario stipend* salaris pensja wynagrodzen* зарплат* 工资 給与 급여 maas
card: karte kreditkarte carte tarjeta cartao kaart карт* 银行卡 信用卡 カード 카드
loan: kredit* darlehen prestamo prestito emprestimo lening pozyczk* кредит* 贷款 ローン 대출
tax: steuer steuern steuererklarung impot impots hacienda tasse imposto belasting* podatk* podatek налог* податк* 报税 税 確定申告 세금 vergi
password: passwort* kennwort* motdepasse contrasena* senha senhas wachtwoord* haslo hasla heslo парол* 密码 密碼 パスワード 비밀번호 sifre parola
door: tur tueren tuer turen haustur* haustuer* wohnungstur* eingangstur* puerta puertas porte porta deur voordeur drzwi dvere dorr dor двер* 大门 房门 门 ドア 玄関 문 kapi
gate: gartentor hoftor einfahrtstor garagentor portail porton cancello portao poort brama ворот* ゲート
garage: garaje garagem garaz* гараж* 车库 ガレージ 차고
window: fenster fenetre* ventana* finestr* janela* raam ramen okno окн* 窗户 窓 창문
lock: schloss serrure cerradura serratura fechadura zamek замок замк* 门锁 锁 鍵 자물쇠 kilit
alarm: alarmanlage alarme alarmes alarma alarmas allarm* сигнализац* охран* 警报 报警 アラーム 警報 경보
camera: kamera* cameras camara camaras telecamer* videocamer* камер* 摄像头 监控 カメラ 監視カメラ 카메라
valve: ventile vanne valvula valvola klep zawor клапан* 阀门 バルブ
heating: heizung* chauffage calefaccion riscaldament* aquecimento verwarming ogrzewan* topeni отоплен* 暖气 暖房 난방
oven: backofen ofen horno forno piekarnik духовк* 烤箱 オーブン
stove: herd kochfeld cuisiniere estufa fornell* kuchenk* плит* 炉灶 コンロ
freezer: gefrierschrank tiefkuhl* congelateur congelador zamrazark* морозил* 冷冻柜 冷凍庫
fridge: kuhlschrank kuehlschrank refrigerateur frigo nevera geladeira lodowk* холодильн* 冰箱 冷蔵庫
light: licht lampe lampen lumiere* luz luces luce luci swiatl* свет 灯 照明 조명
server: serveur* servidor* serwer* сервер* 服务器 伺服器 サーバー 서버 sunucu
instance: instanz* instancia* istanz* инстанс* 实例 云主机 インスタンス 인스턴스
machine: maschine* rechner maquina* macchin* maszyn*
file: datei* fichier* archivo archivos ficheir* arquivo arquivos bestand* plik pliki файл* 文件 ファイル 파일 dosya*
folder: ordner dossier* carpeta* cartell* katalog папк* 文件夹 フォルダ 폴더 klasor
backup: sicherung* datensicherung* sauvegarde* respaldo резервн* 备份 バックアップ 백업 yedek*
database: datenbank* donnees datos dados базаданных бд база 数据库 資料庫 データベース 데이터베이스 veritabani baza danych
table: tabelle* tabla tabella tabela tabel таблиц* 数据表 テーブル 테이블
customer: kunde kunden kundin clientes clienti klant* klient* клиент* 客户 顧客 고객 musteri
user: benutzer* nutzer* utilisateur* usuario* utente utenti gebruiker* uzytkown* uzivatel* пользовател* 用户 ユーザー 사용자 kullanici
group: gruppe gruppen groupe* grupo grupos gruppo gruppi groep groepen grupa групп* 群组 グループ 그룹
permission: berechtigung* recht rechte zugriffsrechte droits permisos permissao permessi rechten uprawnien* прав* разрешен* 权限 権限 권한 yetki
ports: portfreigabe* portweiterleit* abrirpuertos
mailbox: postfach postkasse buzon casella skrzynka boite
firewall: brandmauer 防火墙 ファイアウォール 방화벽 брандмауэр
order: bestellung* auftrag* pedido pedidos ordine ordini bestelling* zamowieni* заказы 订单 注文書
flight: flug fluge vuelo vol volo voo vlucht рейс* 航班 フライト 항공편
ticket: fahrkarte* billet* boleto* biglietto bilet* билет* 车票 机票 チケット
taxi: такси 出租车 タクシー 택시
prescription: rezept ordonnance receta ricetta receita recept рецепт 处方 処方
post: beitrag пост публикац* 帖子 動態
all: alle alles tous toutes todos todas tutto tutti allemaal wszystk* vsech все всё всех 所有 全部 全体 一括 すべて 全て 모두 전체 hepsi tum
home: haus maison casa huis домотик* дом 智能家居 domotique domotica smarthome
device: gerat gerate geraet* appareil* dispositivo* apparaat apparaten urzadzen* устройств* 设备 装置 デバイス 機器 장치 cihaz
script: skript skripte guion скрипт* 脚本 スクリプト 스크립트 betik
command: befehl* kommando* commande comando comandos polecen* prikaz komut* команд* 命令 指令 コマンド 명령 perintah
router: роутер* 路由器 ルーター 공유기
website: webseite* internetseite сайт* 网站 サイト
web: 网页 ウェブ 웹
click: klick* cliquer clique clic clicca* fazclique klik klikken kliknij* нажми нажат* клик* 点击 クリック 클릭 tikla*
"""
