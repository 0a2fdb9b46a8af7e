"""`… | python -m scripts.lan_address ADDRESS`: passes the server's lines on, and shows where phones find it.

The port is the one that the server has taken, whatever file, variable or option named it.
"""

import re
import signal
import sys
from collections.abc import Iterable, Iterator

import segno


def with_address(lines: Iterable[str], address: str) -> Iterator[str]:
    """Yield the lines, and behind the one that names the port, the page's address for other machines and its QR code."""
    for line in lines:
        yield line
        if found := re.match(r"listening on https://.*:(\d+)$", line):
            url = f"https://{address}:{found[1]}"
            yield f"parley: anybody in this network may use it; open {url} there, or scan this, and accept the certificate\n"
            yield from qr_code(url)


def qr_code(text: str) -> Iterator[str]:
    """Yield the lines of a QR code for a terminal: each character is two modules, one above the other."""
    rows = [bytes(row) for row in segno.make(text, micro=False).matrix_iter(border=4)]
    rows += [bytes(len(rows[0]))] * (len(rows) % 2)
    for upper, lower in zip(rows[::2], rows[1::2], strict=True):
        # Black on white, whatever the terminal's own colours are: many phones read no other.
        yield (
            "\x1b[30;107m"
            + "".join(" ▄▀█"[2 * bool(a) + bool(b)] for a, b in zip(upper, lower, strict=True))
            + "\x1b[0m\n"
        )


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, whose last lines are still to come
    for written in with_address(sys.stdin, sys.argv[1]):
        print(written, end="", flush=True)
