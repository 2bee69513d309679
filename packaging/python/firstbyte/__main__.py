"""`python -m firstbyte`: becomes firstbyte."""
import os
import sys

from ._executable import executable

if __name__ == "__main__":
    program = executable()
    os.execv(program, ["firstbyte", *sys.argv[1:]])
