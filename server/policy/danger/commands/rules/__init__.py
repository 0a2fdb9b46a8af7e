"""Which programs, with which words and flags, are asked about. Data; manuals of the programs are the source.

A reason ends in a colon; the rules below it are indented, and go on in lines
that are indented further. A rule is `programs words flags`: `a|b` is either;
words stand in this order among the first six that are no flags (`*`: any); `-f|--force`
is one of these flags (`-f` also inside `-xfd`); `!-n` must not be there; `~glob`
fits any word. The reasons VERBS and CLOUD: it depends on the verb among the words
(services.py); of a cloud, whatever changes it is asked about.
"""
