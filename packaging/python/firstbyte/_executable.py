"""Where the executable of this package is."""
from __future__ import annotations

import os
import shutil
from functools import lru_cache
from importlib import metadata


@lru_cache(maxsize=None)
def executable() -> str:
    """The path of the firstbyte that was installed with this package, or else of one in `PATH`."""
    beside = os.path.join(os.path.dirname(os.path.dirname(__file__)), "bin", "firstbyte")
    for path in (*_recorded(), beside):
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    found = shutil.which("firstbyte")
    if found is None:
        raise FileNotFoundError("`firstbyte` is not installed with its package; help: pip install --force-reinstall firstbyte")
    return found


def _recorded() -> list[str]:
    # What pip wrote down when it installed the package. With `pip install --target` it is not where it says.
    try:
        files = metadata.files("firstbyte") or []
    except metadata.PackageNotFoundError:
        return []
    return [os.path.abspath(file.locate()) for file in files if file.parts[-2:] == ("bin", "firstbyte")]
