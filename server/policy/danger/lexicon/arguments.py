"""Names of arguments, in the languages that people write tools in; read like the verbs."""

from typing import Final

ARGUMENTS: Final = """
temperature: temperatur temperatura temperature grad gradi graden температур* 温度 온도
action: handling aktion aktionen accion acciones azione azioni acao actie akcja akce действи* операци* operazione operacion operacao vorgang tatigkeit 操作 動作 アクション 동작 작업 eylem islem
actions: aktionen acciones azioni acoes acties действия
steps: schritte ablauf etapes pasos passi passos stappen kroki шаги кроки 步骤 手順 ステップ 단계 adimlar
command: befehl kommando commande comando polecenie komut команда 命令 指令 コマンド 명령
script: skript guion скрипт 脚本 スクリプト 스크립트
code: quelltext codigo codice kod код 代码 コード 코드
language: sprache langue langage idioma lenguaje linguaggio taal jezyk язык 语言 言語 언어
query: abfrage requete consulta interrogazione zapytanie dotaz запрос 查询 クエリ 쿼리 sorgu
text: texto testo texte tekst tekstu текст 文本 文字 本文 テキスト 텍스트 metin
content: inhalt contenu contenido contenuto conteudo inhoud tresc zawartosc содержание содержимое 内容 正文 내용 icerik
body: cuerpo corps corpo
message: nachricht mensaje messaggio mensagem bericht wiadomosc сообщение 消息 信息 メッセージ 메시지 mesaj
to: an empfanger empfaenger destinatario destinatarios destinataire destinataires ontvanger aan para кому получател* adresat odbiorca odbiorcy 收件人 收信人 宛先 送信先 수신자 받는사람 alici kime
subject: betreff objet asunto oggetto assunto onderwerp temat тема 主题 標題 件名 제목 konu
title: titel titre titulo titolo tytul заголовок название 标题 タイトル
path: pfad chemin ruta percorso caminho sciezka путь 路径 パス 경로 yol
file: datei fichier archivo arquivo bestand plik файл 文件 ファイル 파일 dosya
attachment: anhang anlage piecejointe adjunto adjuntos allegato allegati anexo bijlage zalacznik zalaczniki вложени* 附件 添付 첨부 ek
url: adresse enlace ссылка 网址 链接 リンク
method: methode metodo metoda метод 方法 メソッド
target: ziel cible objetivo obiettivo doel cel цель 目标 対象 대상 hedef
device: gerat geraet appareil dispositivo apparaat urzadzenie устройство 设备 装置 デバイス 機器 장치 cihaz
room: raum zimmer habitacion stanza kamer pokoj комната 房间 部屋
state: zustand etat estado stato toestand stan состояние статус 状态 状態 상태 durum
amount: betrag montant importe importo quantia bedrag kwota castka сумма 金额 金額 금액 tutar
scene: szene escena scena сценарии сцена 场景 シーン 장면
group: gruppe groupe grupo gruppo groep grupa группа 群 群组 グループ
channel: kanal canal canale kanaal канал 频道 チャンネル
reason: grund raison motivo motief powod причина 原因 理由
name: nome nombre naam nazwa имя 名称 名前 이름
force: erzwingen forcer forzar forza принудительно 强制 強制
confirm: bestatigen confirmer confirmar conferma potwierdz подтвердить 确认 確認
draft: entwurf brouillon borrador bozza rascunho черновик 草稿 下書き
task: aufgabe tache tarea compito tarefa taak zadanie задача задание 任务 タスク 작업내용
instruction: anweisung* instrukcj* istruzion* instruccion* instrucao aanwijzing инструкци* указани* 指示 指令内容
element: elemento элемент 元素 要素 按钮 ボタン 버튼
environment: umgebung entorno environnement ambiente omgeving srodowisko окружение среда 环境 環境
"""
