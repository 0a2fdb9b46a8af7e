"""What tools do, in the languages that people write tools in.

A line is the English word, and the words that mean it; `losch*` is every word that
begins so. Letters are folded to plain ones (`löschen` is `loschen`); words of
languages that put no space between words are found anywhere in a name.
"""

from typing import Final

VERBS: Final = """
finalize: festschreib*
deregister: abmeld* desinscri* disiscriv* afmeld* wyrejestr* avregistr*
void: annullo
delete: losch* gelosch* loesch* entfern* vernicht* tilgen supprim* efface* effacer detruire elimina eliminar* elimine eliminare borra borrar*
    suprimir destruir apague excluir exclui cancella cancellare cancellazione distrugg* verwijder* wissen usun usuwa* usuniecie skasuj*
    kasuj* smaz* odstran* vymaz* sil silme temizle* slet slett* slette fjern* radera* tabort poista* torol* sterge* hapus* xoa удал* стере* сотр* видал*
    уничтож* зітри* 释放 删除 刪除 删掉 移除 抹掉 销毁 清除 削除 消去 抹消 삭제 지우기 제거 احذف حذف מחק διαγραφ*
empty: leeren leere ausleeren vider vide vaciar vacia svuota* esvazia* leegmaken leegmaak oproznij* wyczysc* bosalt* tomma очист* 清空 清理 空にする 비우기
reset: zurucksetz* zuruecksetz* zuruckgesetzt werkseinstell* werksreset auslieferungszustand reinitialis* restablec* resetea* redefinir azzera* sifirla* resetuj*
    zresetuj* terugzetten nollstall* nulstil* сброс* 重置 恢复出厂 初期化 リセット 초기화
format: formatier* formater formatear formatta* formatare formatar formateer* sformatuj* formatuj* bicimlendir* форматир* отформатир* 格式化 フォーマット 포맷
overwrite: uberschreib* ueberschreib* ecras* sobrescri* sobreescri* sovrascriv* overschrij* nadpis* перезапис* 覆盖 上書き 덮어쓰기
uninstall: deinstall* desinstal* disinstall* odinstal* avinstal* деинсталл* 卸载 アンインストール
trash: papierkorb corbeille papelera cestino lixeira prullenbak prullenmand kosz корзин* 回收站 ゴミ箱 휴지통
cancel: stornier* storno abbestell* absage* absagen annulier* annuler annule annulla* annuleer* annuleren anular anula cancelar cancele cancela anuluj* odwolaj* zrus*
    iptal avbok* avbestall* aflys* отмен* скасу* 取消 キャンセル 取り消し 취소
resign: kundig* kuendig* gekundigt resilier resilie resiliation disdetta disdici disdire demission* dimission* renunciar opzeg* wypowied* vypoved* расторг* расторж* уволит*
    解约 解約 退会 退订 注销 销户 탈퇴 해지 istifa
revoke: widerruf* entzieh* revoque* revoquer revocar revoca* revogar intrek* odwolac cofnij отозв* 撤销 吊销 取消授权 失効 철회
close: schliess* auflos* aufloes* fermer ferme fermez cerrar cierra chiudi* chiudere fechar fecha afsluit* sluiten zamknij zamknac закры* 销毁账户 閉鎖 폐쇄
pay: bezahl* zahle zahlen zahlung* payer paie paye paiement pagar paga pague pagamento pago pagare betaal* betala* betaling zaplac* oplac* zaplat* odeme ode bayar оплат* заплат*
    платеж* платить 付款 支付 缴费 支払* 支払い 決済 결제 지불
transfer: uberweis* ueberweis* virement virer transferir transferencia transfiere bonific* overboek* overschrijving przelew* przelej* havale переведи перевести
    перевод переказ* 转账 轉帳 汇款 提现 充值 送金 振込 振り込み 송금 이체 출금
buy: kaufe kaufen kauft einkaufen bestell* acheter achete achat commander comprar compra compre comprare acquist* ordinare kopen koop bestel* kup kupic kupno zamow* zakup koupit
    kopa bestall* satinal siparis купи* покупк* закаж* заказат* заказ 购买 購入 购入 下单 订购 買う 注文 発注 구매 주문 beli
sell: verkauf* vendre vendez vender vendere verkop* verkoop* sprzeda* прода* 卖出 出售 売却 판매
donate: spenden spende donner faireundon donar doar donare doneer* пожертв* 捐款 寄付 기부
book: buchen prenota* boeken boeking zarezerw* rezerwuj* rezervuj* заброн* брониров* 预订 订票 予約する 예매
reserve: reservier* reserver reservar reservere rezerv*
subscribe: abonnier* abonner suscribir abbonar* assinar subskrybuj* подпис* 订阅 구독
sign: unterschreib* unterzeichn* signer firmar firmare assinatura onderteken* podpisz* imzala* signera 签署 签字 签约 署名 서명
accept: annehmen akzeptier* zustimm* einwillig* accepter aceptar aceita* accetta* accepteer* zaakceptuj* приня* соглас* 接受 同意 承諾 承認 수락 동의
submit: einreich* beantrag* soumettre deposer presentar presenta presentare inoltra* inviadomanda indien* zloz* podaj подат* подай 提交 申请 申報 申请 提出 申請 제출 신청 basvur*
vote: abstimmen abstimm* voter votar votare stemmen glosuj* голосов* 投票 투표
send: sende senden verschick* schicke schicken versende* versand envoie envoy* enviar envia envie envio inviare invia invio mandar mandare verzend* verstuur* versturen stuur
    wysl* wyslij* odesl* posli skicka* sende lahet* gonder* kirim отправ* посла* пошли надісл* розісл* 发送 发出 寄送 送信 送る 보내* 전송 발송 ارسل
forward: weiterleit* reenviar reenvia encaminhar doorstur* przekaz* пересла* перешл* 转发 転送 전달
share: teilen freigeb* partager partage compart* condivid* deel delen udostepn* dela deling paylas* подел* 分享 共享 共有 공유
publish: veroffentlich* veroeffentlich* publier publie publicar publica publique pubblica* publiceer* publiceren opublik* publikuj* publicera* yayinla* опублик* публик* 发布
    發布 发表 群发 公開 投稿 게시 공개
unlock: entriegel* entsperr* aufschliess* aufsperr* deverrouill* desbloque* sblocc* ontgrendel* ontsluit* odblok* odemkn* lasupp отпер* отопр* разблок* відімкн* 解锁 开锁 開錠 解錠 잠금해제
disarm: entscharf* entschaerf* unscharf* desarm* disinser* rozbroj* 撤防 警戒解除 경계해제
open: offne* oeffne* aufmach* ouvr* abrir abre abra aprire apri openen otworz* otevr* oppna* abne откр* відкр* 打开 开门 開け* 開く 열기 열어
off: aus ausschalt* abschalt* ausmach* ausstell* couper coupe eteind* eteins apagar apaga desligar deslig* spegn* uitschakel* uitzet* wylacz* vypn* slukk* stangav kapat* выключ*
    отключ* вимкн* 关掉 关闭 切断 オフ 끄기 꺼
on: einschalt* anschalt* anstell* allum* encender enciende ligar accend* inschakel* aanzet* wlacz* zapn* включ* увімкн* 开启 オン 켜기
deactivate: deaktiv* desactiv* desativ* disattiv* dezaktyw* деактив* 停用 禁用 無効化 비활성*
restart: neustart* neuzustarten redemarr* reinici* riavvi* herstart* перезагру* перезапус* 重启 再起動 再启动 재시작 재부팅 yenidenbaslat
shutdown: herunterfahr* runterfahr* hochfahren stilllegen arreter arretez 关机 停机 シャットダウン 電源を切 종료
stop: stoppe stoppen anhalt* beend* detener deten parar fermare zatrzym* zastav* durdur* останов* зупин* 停止 终止 中止 중지 정지
pause: pausier* anhalten sospend* aussetz* приостан* 暂停 一時停止
block: sperr* blockier* bloquer bloquear bloccare blokkeer* zablokuj* заблок* блокир* 封禁 拉黑 屏蔽 차단 engelle*
expel: rausschmeiss* rauswerf* ausschliess* expuls* espell* wyrzuc* исключ* выгна* 踢出 追放 강퇴
change: anderung aender* anderen wechsel* tausch* modific* modifier modifie changer cambiar cambia* modificar alterar wijzig* zmien* zmen* endre andra измен* смени* змін* 修改 更改 変更 변경 degistir*
update: aktualisier* mettreajour actualiz* aggiorna* atualiz* bijwerk* zaktualiz* aktualizuj* uppdatera* обнов* 更新 업데이트 guncelle*
create: erstell* anleg* creer crear crea creare criar aanmak* utworz* vytvor* skapa* созда* створ* 创建 新建 作成 生成 생성 olustur*
add: hinzufug* hinzufueg* ajout* anad* agrega* aggiung* adicion* toevoeg* dodaj* pridej* lagtill добав* 添加 追加 추가 ekle*
set: setzen einstellen regler poner establecer imposta* definir ustaw* nastav* установ* задат* 设置 设定 設定 설정 ayarla*
move: verschieb* deplac* mover spost* verplaats* przenies* presun* перемест* 移动 移動 이동
restore: wiederherstell* restaurer restaurar ripristina* herstellen przywroc* восстанов* 恢复 復元 복원
hire: anheuern embaucher contratar assumere zatrudnij
release: freigabe liberar rilascia*
give: erteile* vergeben accorder conceder otorgar concedi* toekenn* nadaj выда* предостав* 授予 付与 부여
execute: ausfuhr* ausfuehr* executer ejecut* esegui* eseguire executar executa uitvoer* wykon* uruchom* spust* выполн* запуст* запуск* исполн* 运行 执行 実行 실행 calistir* kor
get: anzeig* zeige such* suche auflist* abruf* lesen lies ansehen lire cherch* recherch* voir lister listar listare elenc* buscar busca mostrar mostra affich* leer leggi* cerca
    cercare consultar consulter zoek* toon* bekijk* szukaj* pokaz* wyswietl* hledej* ukaz* sok goster* listele ara искат* найди найт* поиск покаж* показ* просмотр* прочит*
    список 查询 查看 查找 搜索 列表 列出 读取 获取 历史 検索 一覧 表示 取得 参照 履歴 조회 목록 검색 보기 اعرض ابحث
draft: entwurf brouillon borrador bozza rascunho szkic koncept taslak чернов* чернетк* 草稿 下書き 초안
explain: erklar* erklaer* explique* explicar explica spiega* uitleg* objasn* wyjasn* объясн* 解释 説明 설명
plan: planen planung 计划 計画
"""
