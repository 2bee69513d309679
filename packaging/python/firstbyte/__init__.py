"""firstbyte from Python: runs the command, and returns its JSON document as dataclasses.

    import firstbyte

    result = firstbyte.bench(["./before", "./after"], runs=50)
    for program in result.results:
        print(program.name, program.phases.first_byte.median, program.counts.syscalls)

Keyword arguments are the options of the command: `clean_env=True` is `--clean-env`, `runs=50` is `--runs 50`, and a
list repeats its option. `firstbyte COMMAND --help` describes them. Times are nanoseconds, except hyperfine's fields
(`mean`, `median`, `times`, …), which are seconds.
"""
from __future__ import annotations

import os
import shlex
import subprocess
from typing import Any, Optional, Sequence, Union

from . import documents
from ._executable import executable
from ._reading import read

__all__ = ["Command", "Error", "Result", "bench", "check", "diff", "documents", "executable", "read", "run", "trace"]

Command = Union[str, Sequence[Union[str, "os.PathLike[str]"]]]
"""A command: a string that is split as a shell splits it, or its words."""

Result = documents.BenchDocument
"""What `bench` returns."""


class Error(Exception):
    """firstbyte ended with a status other than 0 and 1."""

    def __init__(self, status: int, message: str, document: Any = None) -> None:
        super().__init__(message)
        self.status = status
        """The exit status: 2 usage, 3 a program failed, 4 this machine cannot do it."""
        self.document = document
        """The results so far, if there are any."""


def bench(commands: Union[Command, Sequence[Command]], **options: Any) -> Result:
    """Measures commands in interleaved runs and compares them with the first: `firstbyte bench`."""
    several = [commands] if isinstance(commands, str) else commands
    return run("bench", *map(_line, several), export_json="-", **options)


def trace(command: Command, **options: Any) -> documents.TraceDocument:
    """Shows where the start of one program spends its time: `firstbyte trace`."""
    words = shlex.split(command) if isinstance(command, str) else map(os.fspath, command)
    return run("trace", "--", *words, export_json="-", **options)


def diff(before: Command, after: Command, **options: Any) -> documents.DiffDocument:
    """Compares two starts, or two recordings, step by step: `firstbyte diff`."""
    return run("diff", _line(before), _line(after), export_json="-", **options)


def check(file: Union[str, "os.PathLike[str]"] = "firstbyte.toml", **options: Any) -> documents.CheckDocument:
    """Checks programs against the budgets in a file: `firstbyte check`."""
    return run("check", file=os.fspath(file), json=True, **options)


def run(
    command: str, *words: str, environment: Optional[dict[str, str]] = None, cwd: Optional[str] = None, **options: Any
) -> Any:
    """Runs any command that prints a JSON document, such as `run("floor", json=True)`, and returns the document.

    `environment` and `cwd` are those of firstbyte, which its programs inherit.
    """
    line = [executable(), command, *_options(options), *words]
    done = subprocess.run(line, capture_output=True, check=False, env=environment, cwd=cwd)
    document = read(done.stdout) if done.stdout.startswith(b"{") else None
    if done.returncode not in (0, 1) or document is None:
        message = done.stderr.decode(errors="replace").strip()
        raise Error(done.returncode, message or f"`firstbyte {command}` ended with status {done.returncode}", document)
    return document


def _line(command: Command) -> str:
    return command if isinstance(command, str) else shlex.join(map(os.fspath, command))


def _options(options: dict[str, Any]) -> list[str]:
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        values = value if isinstance(value, (list, tuple)) else [value]
        words += [option if one is True else f"{option}={one}" for one in values if one not in (None, False)]
    return words
