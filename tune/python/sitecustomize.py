"""Makes the import of one module lazy, to measure what loading it where it is used would save."""

import os
import sys


def _install(name):
    import importlib.util
    from importlib.machinery import PathFinder

    class Finder:
        @staticmethod
        def find_spec(full, path=None, target=None):
            if full != name:
                return None
            sys.meta_path.remove(Finder)
            spec = PathFinder.find_spec(full, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = importlib.util.LazyLoader(spec.loader)
            return spec

    sys.meta_path.insert(0, Finder)


def _shadowed():
    """Executes the sitecustomize that this one hides."""
    from importlib.machinery import PathFinder

    here = os.path.dirname(os.path.abspath(__file__))
    others = [folder for folder in sys.path if os.path.abspath(folder or ".") != here]
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        import importlib.util

        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    sys.path[:] = others


_module = os.environ.pop("FIRSTBYTE_LAZY_MODULE", None)
_shadowed()
if _module:
    _install(_module)
