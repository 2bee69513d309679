#!/usr/bin/env python3
"""level0, slow and obvious: reference.py DICTIONARY < text.

The rule of the contest's own program, on bytes: a word is a run of bytes other than space and newline; it is known if,
with A-Z made small, it is a line of the dictionary; around every other word come angle brackets."""

import re
import sys


def main():
    with open(sys.argv[1], "rb") as dictionary:
        known = set(dictionary.read().split(b"\n"))

    def bracketed(match):
        word = match.group()
        return word if word.lower() in known else b"<" + word + b">"

    text = sys.stdin.buffer.read()
    sys.stdout.buffer.write(re.sub(rb"[^ \n]+", bracketed, text))


main()
