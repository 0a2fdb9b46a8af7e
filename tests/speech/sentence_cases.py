"""What is one sentence: replies with `|` where they are cut, by subject. A slice keeps the white space before it."""

from typing import Final

CASES: Final[dict[str, str]] = {
    "plain": """
Hello.| How are you?
Yes!| No?| Well.
One sentence without an end
One sentence with an end.
Short.|\\n
I see.| Then go.
It is late.| We leave.| Good night!
What is it?| It is a bird.
Stop!| Stop!| Stop!
Is it?| Yes.| Sure?| Sure.
He left.| She stayed.| They met again.
A. B is next.
Wait, no.
First this; then that.| Done.
Nothing: no end
Yes - and no.| Fine.
It is 5 o'clock.| Tea is ready.
It's fine.| Don't worry.
The end.
All done.|  Two spaces follow.
Tab.|\tNext.
""",
    "stops in a row": """
What?!| Really...
No way!!!| Yes.
Are you sure??| I am.
Hmm...| let me think.
Well…| maybe
Wait.....| what?
Oh!?| I see.
So...?| Yes.
Really?!?!| Yes.
I thought...| never mind.
And then…| nothing.
...
!?
…
... and then it ended.
…so it goes.| Yes.
Good...|\tbetter.
Go!...| Now.
""",
    "abbreviations": """
Ask Dr. Who, e.g. now.| Fine.
Mr. Smith met Mrs. Jones.| They talked.
Ms. Brown is in.| Come in.
Prof. Hall teaches.| We learn.
St. Paul is a city.| It is cold there.
Sammy Davis Jr. sang.| It was good.
Cats vs. dogs is old.| Next.
Apples, pears, etc. are fruit.| Eat them.
That is, i.e. now, the end.| Yes.
See fig. 3 for it.| It shows all.
It is approx. 3 km.| Walk.
The dept. of state is here.| Ask.
It was est. in 1900.| Old.
Acme Inc. sells it.| Buy it.
Foo Ltd. and Bar Co. merged.| Wow.
At 5 p.m. we eat.| Then we rest.
At 9 a.m. we work.| Good.
The U.S. is large.| So is Canada.
The U.K. has rain.| Much of it.
She has a Ph.D. in physics.| Nice.
On Jan. 5 we start.| Be there.
By Dec. 24 it is done.| Good.
Cf. the first page.| There it is.
J. R. Smith and I.| We left.
J. R. R. Tolkien wrote it.| Read it.
George W. Bush was there.| So were we.
You and I.| Together.
Plan B. is off.| Go.
He is no. 5 of them.| See No. 6 too.
See p. 12 and pp. 30 to 40.| Done.
Vol. 2 is out.| Buy it.
See Sec. 4 there.| Then Ch. 5 follows.
Gen. Lee and Col. Mustard met.| Then they left.
Sen. Warren and Gov. Brown spoke.| We heard.
Rev. Green and Fr. Brown prayed.| Amen.
Sgt. Pepper played.| Lt. Dan danced.| Good.
It is max. 5 or min. 3.| Take 4.
No.| Never.
I said no.| We left.
He has no. 7.| Good.
Mt. Everest is high.| Climb it.
""",
    "numbers": """
Pi is 3.14 or so.| Yes.
It costs $3.50.| Take it.
Version 2.0.1 is out.| Update.
The year is 2024.| Good.
I have 3.| You have 4.
1,000.50 is much.| Indeed.
At 10:30 we go.| Then home.
It is .5 of it.| Half.
Chapter 7.|  Begin.
3.5% of 20.5 is 0.7175.| Check it.
192.168.0.1 is local.| Good.
On 24.12.2026 we meet.| Bring cake.
It weighs 5.2kg.| Heavy.
50. That is it.
Is 5 > 3?| Yes.
5!| is 120.| Correct.
""",
    "lists": """
1. First|\\n2. Second
1. First item.|\\n2. Second item.|\\n3. Third.
Do this:|\\n1. Wash.|\\n2. Dry.
- one|\\n- two|\\n- three
* one|\\n* two
- [ ] open|\\n- [x] done
Intro:|\\n\\n- a|\\n- b|\\n\\nThe end.
10. Tenth point.|\\n11. Eleventh.
1) One.|\\n2) Two.
a. First letter|\\nb. Second letter
  - nested one|\\n  - nested two
- It is.| Really.|\\n- No.
1. Go.| 2. Stop.
""",
    "lines and headings": """
One line|\\nand another
A paragraph.|\\n\\nAnother.
# Heading|\\nText.
## Second heading|\\n\\nSome text.| More.
Title|\\n=====\\nText.
\\n\\nStart.
Text|\\n\\n\\nAfter.
Line one.|\\nLine two.
> quoted|\\n> more
---\\nAfter the rule.
Before.|\\n\\n---\\n\\nAfter.
Tail.|\\n
A|\\nB|\\nC
# Only a heading
""",
    "quotes and brackets": """
She said "no."| Then left.
He asked "why?"| I shrugged.
“Come in.”| She did.
‘Well.’| He sat.
(It is.)| Yes.
It is (really).| Good.
[Note.]| Next.
"Yes!"| she said.
"Wait..."| he said.
He said: "Go.| Now."| We went.
Is it "it"?| Yes.
She (Dr. No) left.| Fine.
{It is.}| Good.
»Ja.«| Gut.
He cried ("Help!").| Nobody came.
"One."| "Two."
(See above.)| (See below.)
She wrote 'Done.'| We read it.
The word "e.g." is short.| Use it.
""",
    "markdown": """
**Done!**| Next.
*Yes.*| No.
__Good.__| Bad.
`a.b.c` is a path.| Use it.
Use `x.y()` now.| Then stop.
Call `foo?` first.| Then bar.
~~Old.~~| New.
**Note:** it works.| Good.
See [the page](https://a.example/b.html).| It helps.
See [a. b](x.html) now.| Good.
![Alt.](a.png) Shown.
_It is._| Yes.
***Wow!***| Next.
**Bold** and *thin*.| Good.
| a | b |
""".replace("| a | b |\n", ""),
    "code": """
Look:|\\n```python|\\nprint('a. b! c?'). x|\\n}\\n```|\\nDone.| Yes
```|\\nx.|\\n```|\\nAfter.
Run:|\\n```sh|\\nls -l|\\n```|\\nThen look.| Good.
~~~|\\nx. y! z|\\n~~~|\\nAfter.| Yes.
````|\\n```|\\nx. y|\\n```|\\na. b|\\n````|\\nAfter.
if a != b then stop
x = y ?| 1 : 2
it?.length and a?b
a !== b and c.| Then d.
obj.method() returns.| Good.
file.txt is there.| Open it.
Node.js is fast.| So is C++.
.gitignore is a file.| Edit it.
""",
    "addresses": """
See https://a.example/x.html?q=1!| Good.
See https://a.example/.| Good.
Go to www.example.com.| Read it.
Go to example.com now.| Read it.
Mail me@a.example.| Soon.
Mail joe.doe@mail.example.com today.| Thanks.
https://a.example/?a=1&b=2 is long.| Yes.
(https://a.example/b.html) There.
<https://a.example/>.| Yes.
Is it http://a.example?| Yes.
See http://a.example/a?b=c.d!| Now it is.
ftp.example.org serves.| Still.
See C:\\\\dir\\\\a.txt there.| Open it.
/usr/bin/env.sh runs.| Good.
""",
    "emoji": """
Hi! 👋| How are you?
Great!|👍 Next.
Good. 🎉 Now go.
Nice 😀.| Yes.
😀
Wow!!! 🎉🎉| See.
Done ✅|\\nNext
Hello 👩‍👩‍👧!| Family.
""".replace("Hi! 👋|", "Hi!| 👋")
    .replace("Good. 🎉", "Good.| 🎉")
    .replace("Wow!!! 🎉🎉|", "Wow!!!| 🎉🎉"),
    "chinese": """
你好。|今天天气很好！|你呢？
他说：“走吧。”|然后走了。
我们走吧！|现在。
真的吗？！|是的。
这是3.14。|对。
他想……|然后说。
“好。”|她说。
《红楼梦》。|很好。
（是的。）|好。
我用Python。|很好用。
今天是2026年11月21日。|星期六。
价格是5.5元。|不贵。
第一，听。|第二，说。
你好
好！！！|真好。
他问：“为什么？”|我不知道。
见 https://a.example/b 吧。|好。
去 www.a.example。|看看。
你好。 |好的。
这是A.B的事。|对。
「好。」|他说。
1. 第一|\\n2. 第二
标题|\\n内容。|更多。
天气好吗?|好。
天气好!|走。
我好.|你呢?
电话：123。|打吧。
好～。|再见。
""".replace("你好。 |好的。", "你好。| 好的。"),
    "japanese": """
こんにちは。|元気ですか？|はい！
彼は「行こう。」|と言った。
「はい。」|「いいえ。」
そうですか…|わかりました。
今日は、晴れです。|明日は雨です。
『本。』|読みました。
（笑）。|次。
え？！|本当？
東京タワー。|高い。
3.5メートルです。|長い。
Pythonが好き。|あなたは？
ありがとう！|またね。
質問：何ですか？|答え：本です。
「何？」|と聞いた。
やった！！|次へ。
です。| ます。
カタカナ。|ひらがな。|漢字。
URLはhttps://a.exampleです。|見て。
えっと……|はい。
１．一番|\\n２．二番
""",
    "mixed": """
Hello.| 你好。|Bye.
我叫Dr. Who。|你呢？
Say “你好。”| Then go.
It is 好.| Yes.
OK。|Fine。
Yes!是的。
日本語とEnglish.|混ぜる。
Use 「X」.| Good.
He said 是。|She said no.| Fine.
价格: $3.50。|OK?|好。
Привет.| Как дела?| Хорошо.
¿Qué tal?| ¡Bien!| Vale.
Ça va?| Oui.
Über.| Äh, ja.
""".replace("Yes!是的。", "Yes!|是的。"),
    "hindi and its neighbours": """
मैं ठीक हूँ।| आज मौसम अच्छा है।| कल बारिश होगी।
क्या हाल है?| सब ठीक है।
उसने कहा, “चलो।”| फिर वह गया।
दाम 3.50 रुपये है।| ठीक।
धर्मक्षेत्रे कुरुक्षेत्रे॥| अगला।
डॉ॰ शर्मा आए।| बैठिए।
সব ভালো।| আজ আবহাওয়া ভালো!| তুমি?
ਮੈਂ ਠੀਕ ਹਾਂ।| ਤੁਸੀਂ?
ਹਾਂ।|ਨਹੀਂ।
""",
    "arabic and urdu": """
كيف حالك؟| هل أنت بخير؟| نعم.| شكرا
السعر 3.50 دولار.| حسنا!
قال: «تعال.»| ثم ذهب.
ماذا؟!| لا أدري.
ماذا؟؟| نعم.
میں ٹھیک ہوں۔| آج موسم اچھا ہے۔| آپ کیسے ہیں؟
اس نے کہا (ہاں۔)| پھر گیا۔
حال شما چطور است؟| خوبم.
""",
    "further scripts": """
Ես լավ եմ։| Իսկ դու՞։
ደህና ነኝ።| አንተስ፧| እሺ።
နေကောင်းပါတယ်။| ကျေးဇူးတင်ပါတယ်။
ខ្ញុំសុខសប្បាយ។| អរគុណ។
བཀྲ་ཤིས་བདེ་ལེགས།| ཐུགས་རྗེ་ཆེ།
ᠰᠠᠶᠢᠨ᠃| ᠲᠠ᠃
はい｡|いいえ｡
What‽| Yes.
""",
}
