"""The modules and files that a start brought in, by names that hold on other machines, too."""
from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, Iterable, Optional

from .documents import TraceLoad

# `json/__pycache__/decoder.cpython-311.pyc`, `_json.cpython-311-x86_64-linux-gnu.so`
COMPILED = re.compile(r"(?:__pycache__/)?([^/.]+)(?:\.[^/]*)?\.(?:py|pyc|so)$")
# Where the names of modules begin.
ROOTS = re.compile(r".*/(?:site-packages|dist-packages|lib-dynload|python3(?:\.\d+)?)/")


class Loads:
    def __init__(self, loads: Iterable[TraceLoad], root: Path) -> None:
        self.modules: dict[str, str] = {}
        """The file of each Python module."""
        self.files: dict[str, str] = {}
        """The path of each other file, by its path from the project or the environment on."""
        for load in loads:
            if load.file is None or load.depth == 0:
                continue
            name = module(load.file)
            (self.modules if name else self.files)[name or portable(load.file, root)] = load.file

    def since(self, baseline: dict[str, Any]) -> list[str]:
        """A line for each module and file that the baseline does not have."""
        modules = sorted(set(self.modules) - set(baseline["modules"]))
        files = sorted(set(self.files) - set(baseline["files"]))
        width = max(map(len, modules), default=0)
        return [*(f"  module  {name:<{width}}  {self.modules[name]}" for name in modules),
                *(f"  file    {self.files[name]}" for name in files)]


def module(file: str) -> Optional[str]:
    """The dotted name of the module in a file; `None` if it is no Python module."""
    match = COMPILED.search(file)
    if not match or ".so" in file and not re.search(r"\.(cpython-|abi3|pypy)[^/]*\.so$", file):
        return None
    folder = file[: match.start()].rstrip("/")
    below = ROOTS.sub("", folder + "/").rstrip("/") if ROOTS.match(folder + "/") else packages(Path(folder))
    parts = [*filter(None, below.split("/")), match[1]]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or None


def packages(folder: Path) -> str:
    """The packages that a folder is in: its names as long as there is an `__init__.py`."""
    names: list[str] = []
    while (folder / "__init__.py").exists() and folder.name:
        names.insert(0, folder.name)
        folder = folder.parent
    return "/".join(names)


def portable(file: str, root: Path) -> str:
    for prefix, name in ((str(root), "."), (sys.prefix, "{prefix}"), (sys.base_prefix, "{python}"), (str(Path.home()), "~")):
        if file.startswith(prefix.rstrip("/") + "/"):
            return name + file[len(prefix.rstrip("/")):]
    return file
