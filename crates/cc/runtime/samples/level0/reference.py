#!/usr/bin/env python3
"""level0, slow and obviously correct: reference.py DICTIONARY < text.

It applies the rule of the contest's own program to bytes. A word is a run of bytes other than space and newline. It is
known if it is a line of the dictionary, in lower case (A-Z). Every other word gets angle brackets."""

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
