"""Words that sentences are made of, and passwords and wallets are not."""

from typing import Final

IN_SENTENCES: Final = frozenset(
    "the and with not but from that this these those your are has have had must can will would should may might use used using leave empty none is was were be been being "
    "it its if no yes my our their his her you we they he she them us me same all any some one more most other another please ask see set get got give given sent send "
    "written write below above next then when where which what who why how here there after before again also only just still already never always ever don dont does did "
    "don't doesn't won't can't didn't via per each every both either than too very much many such like into onto out off over under "
    "der die das den dem des ein eine einen einem und oder mit nicht aber von vom für ist sind war wird werden wurde kann können soll sollte muss bitte wie wer was wo wenn dann hier dort noch nur auch "
    "bei beim aus auf nach vor über unter durch ohne gegen ihr ihre ihrem sie wir ich sein seine mein meine dein deine steht liegt bekommen finden siehe gleiche selbe neue neuen alte "
    "les des une est sont pas pour par dans sur avec sans votre vos notre nos mon ton son qui que quoi quand comme même voir demander "
    "los las una por para con sin pero que qué como cuando donde este esta ese esa está son tiene mismo misma pedir ver "
    "uma com sem não mais mas que seu sua pelo pela mesmo mesma ver pedir del della con non per che come chi nel nella "
    "het een van voor met niet zonder zie vragen jest nie dla przez jak och att inte för med som "
    "line lines file read bytes option options field fields input value values text type page login log".split()
)
