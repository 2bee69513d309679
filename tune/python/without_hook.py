"""Runs a program as Python does, but without one .pth file or without sitecustomize, to measure what they cost.

Python has not imported `site` (option -S). So what `site` does can be changed before it does it.
"""

import os
import site
import sys

_LEFT_OUT = os.environ.pop("FIRSTBYTE_LEFT_OUT", "")


def _without_hook():
    if _LEFT_OUT == "sitecustomize":
        site.execsitecustomize = lambda: None
        return
    add = site.addpackage

    def filtered(folder, name, known):
        return known if name == _LEFT_OUT else add(folder, name, known)

    site.addpackage = filtered


def _program():
    """The code of the program, and what it is called. Arguments and path become what Python would have made of them."""
    del sys.argv[0]
    if sys.argv[0] == "-c":
        code = sys.argv.pop(1)
        sys.path[0] = ""
        return code, "<string>"
    file = sys.argv[0]
    sys.path[0] = os.path.dirname(os.path.realpath(file))
    with open(file, "rb") as opened:
        return opened.read(), file


_without_hook()
site.main()
if sys.argv[1] == "-m":
    import runpy

    sys.path[0] = os.getcwd()
    del sys.argv[0:2]
    runpy._run_module_as_main(sys.argv[0])
else:
    _code, _name = _program()
    _own = sys.modules["__main__"].__dict__
    for _each in [name for name in _own if not name.startswith("_")] + ["_without_hook", "_program", "_LEFT_OUT"]:
        del _own[_each]
    if _name == "<string>":
        del __file__
    else:
        __file__ = __import__("os").path.abspath(_name)
    __doc__ = None
    exec(compile(_code, _name, "exec"), _own)
