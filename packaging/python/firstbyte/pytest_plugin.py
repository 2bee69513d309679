"""The pytest plugin: a fixture that fails when a program's start does more than it did.

    @pytest.mark.startup(budget="120 ms", imports=40, without=["numpy"])
    def test_help_starts_fast(startup):
        startup("mytool", "--help")

`pytest --startup-update` writes what the start does today into `startup/` beside the test: the baseline. The counts and
the loaded modules and files are compared with it. A time is compared only as a ratio to an empty Python that runs in
turn with the program, so it holds on another machine.
"""
from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any, Optional

import pytest

import firstbyte

from ._loads import Loads

# What a baseline limits, and by how much more each may be. Other counts change with each edit of a program, and are limited
# only where the mark names them.
TOLERATED = {"processes": 0.0, "threads": 0.0, "execs": 0.0, "files_opened": 0.0, "failed_opens": 0.0, "syscalls": 0.02}
COUNTS = {**TOLERATED, "page_faults": 0.02, "major_faults": 0.0, "bytes_read": 0.0, "writes": 0.0, "max_rss": 0.05,
          "instructions": 0.01}
EMPTY_PYTHON = [sys.executable, "-I", "-S", "-c", "pass"]
UNITS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("firstbyte").addoption(
        "--startup-update", action="store_true", help="write what programs do at their start today as the baseline")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "startup(budget=None, imports=None, without=(), runs=20, **counts): limits of the fixture `startup`. `budget` is a time "
        "or a ratio to the baseline, such as '120 ms' or '1.2x'; `imports` is the largest number of Python modules; `without` "
        "names modules that must not be imported; a count, such as syscalls=600, is its largest value")


@pytest.fixture
def startup(request: pytest.FixtureRequest) -> "Startup":
    """Measures the start of a program: `startup("mytool", "--help")`. Fails if it does more than its limits."""
    mark = request.node.get_closest_marker("startup")
    file = Path(request.path).parent / "startup" / (re.sub(r"[^\w.-]+", "-", f"{request.path.stem}.{request.node.name}") + ".json")
    return Startup(file, Limits(**(mark.kwargs if mark else {})), request.config)


class Limits:
    """The arguments of the mark."""

    def __init__(
        self, budget: Optional[str] = None, imports: Optional[int] = None, without: Any = (), runs: int = 20, **counts: int
    ) -> None:
        if unknown := sorted(set(counts) - set(COUNTS)):
            raise pytest.UsageError(f"`startup` has no limit `{unknown[0]}`\nhelp: use {', '.join(COUNTS)}")
        if budget is not None and not re.fullmatch(r"[\d.]+ ?(x|×|ns|us|µs|ms|s)", budget):
            raise pytest.UsageError(f"`{budget}` is no budget\nhelp: use a time or a ratio, such as '120 ms' or '1.2x'")
        self.budget, self.imports, self.without, self.runs, self.counts = budget, imports, without, runs, counts

    def ratio(self, baseline: dict[str, Any]) -> float:
        """The largest ratio to an empty Python."""
        number, unit = re.fullmatch(r"([\d.]+) ?(\D+)", self.budget or "").groups()  # type: ignore[union-attr]
        if unit in "x×":
            return float(number) * baseline["ratio"]
        return float(number) * UNITS[unit] / baseline["empty_python_ns"]


class Startup:
    """Measures, and compares with the baseline in `file`."""

    def __init__(self, file: Path, limits: Limits, config: pytest.Config) -> None:
        self.file, self.limits, self.config = file, limits, config

    def __call__(self, *words: str, **options: Any) -> "Start":
        __tracebackhide__ = True
        try:
            start = measured(words, self.limits, options, self.config.rootpath)
        except firstbyte.Error as error:
            pytest.fail(f"`{shlex.join(words)}` could not be measured\n{error}", pytrace=False)
        if self.config.getoption("startup_update"):
            self.write(start)
        problems = start.problems(self.limits, self.baselines().get(start.command), self.file)
        if problems:
            pytest.fail("\n".join([f"the start of `{start.command}` exceeds its limits", *problems]), pytrace=False)
        return start

    def baselines(self) -> dict[str, Any]:
        return json.loads(self.file.read_text()) if self.file.exists() else {}

    def write(self, start: "Start") -> None:
        baselines = {**self.baselines(), start.command: start.baseline()}
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_text(json.dumps(baselines, indent=1) + "\n")


class Start:
    """What a program did at its start."""

    def __init__(self, program: firstbyte.documents.Measurement, loads: Loads, empty_python_ns: Optional[float]) -> None:
        self.command = program.command
        varying = {name: low for name, (low, _) in program.varying.items()}
        highest = {name: high for name, (_, high) in program.varying.items()}
        counted = {name: getattr(program.counts, name) for name in COUNTS}
        self.counts = {name: varying.get(name, count) for name, count in counted.items() if count is not None}
        """The smallest of each count, over the counting runs."""
        self.highest = {name: highest.get(name, count) for name, count in self.counts.items()}
        self.loads = loads
        self.relative = next((one for one in program.relative if one.of == "total"), None)
        """The time as a ratio to an empty Python; `None` without a budget."""
        self.empty_python_ns = empty_python_ns

    @property
    def modules(self) -> list[str]:
        """The Python modules that it imported from files."""
        return sorted(self.loads.modules)

    def baseline(self) -> dict[str, Any]:
        time = {}
        if self.relative:
            time = {"ratio": round(self.relative.ratio, 3), "empty_python_ns": round(self.empty_python_ns or 0)}
        kept = {name: self.highest[name] for name in COUNTS if name in self.highest}
        return {**time, "counts": kept, "modules": self.modules, "files": sorted(self.loads.files)}

    def problems(self, limits: Limits, baseline: Optional[dict[str, Any]], file: Path) -> list[str]:
        """One line for each limit that it exceeds, counts first, and what came since the baseline."""
        rows = [self.over(name, limit, "limit", 0.0) for name, limit in limits.counts.items()]
        if limits.imports is not None and len(self.modules) > limits.imports:
            rows.append(row("imports", len(self.modules), "limit", limits.imports))
        if baseline:
            known = {name: most for name, most in baseline["counts"].items() if name in TOLERATED and name not in limits.counts}
            rows += [self.over(name, most, "baseline", TOLERATED[name]) for name, most in known.items()]
        lines = [one for one in rows if one]
        forbidden = [name for name in self.modules if any(name == bad or name.startswith(f"{bad}.") for bad in limits.without)]
        lines += [f"  imports {name}: {self.loads.modules[name]}" for name in forbidden]

        came = self.loads.since(baseline) if baseline else []
        lines += ["what came since the baseline:", *came] if came else []
        lines += self.time(limits, baseline)
        if lines and not baseline:
            lines.append(f"help: pytest --startup-update writes a baseline, `{shown(file)}`, which says what comes from then on")
        elif came or any("baseline" in line for line in lines):
            lines.append(f"help: pytest --startup-update accepts it, and writes `{shown(file)}`")
        return lines

    def over(self, name: str, most: int, of: str, tolerated: float) -> Optional[str]:
        count = self.counts.get(name)
        if count is None:
            return f"  {name.replace('_', ' ')} cannot be counted on this machine" if of == "limit" else None
        return row(name, count, of, most) if count > most * (1 + tolerated) else None

    def time(self, limits: Limits, baseline: Optional[dict[str, Any]]) -> list[str]:
        if limits.budget is None or self.relative is None:
            return []
        if not baseline or "ratio" not in baseline:
            return [f"  the budget `{limits.budget}` needs a baseline: a time of another machine says nothing about this one"]
        most, measured_ratio = limits.ratio(baseline), self.relative
        # Certainly slower only if the whole interval is.
        if measured_ratio.low <= most:
            return []
        return [f"  time: {measured_ratio.ratio:.2f} x an empty Python ({measured_ratio.low:.2f} to {measured_ratio.high:.2f}), "
                f"budget {most:.2f} x, baseline {baseline['ratio']:.2f} x"]


def row(name: str, count: int, of: str, most: int) -> str:
    return f"  {name.replace('_', ' '):<13} {count:>9}   {of} {most:>9}   {count - most:+}"


def shown(file: Path) -> str:
    return os.path.relpath(file)


def measured(words: tuple[str, ...], limits: Limits, options: dict[str, Any], root: Path) -> Start:
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    # The programs of this environment first, also where it is not activated.
    environment["PATH"] = os.path.dirname(sys.executable) + os.pathsep + environment.get("PATH", os.defpath)
    timed: dict[str, Any] = {"runs": 3}
    if limits.budget is not None:
        timed = {"runs": limits.runs, "reference": shlex.join(EMPTY_PYTHON)}

    command = shlex.join(words)
    bench = firstbyte.run("bench", command, no_overhead=True, export_json="-", environment=environment, **timed, **options)
    if not bench.results or bench.results[0].command != command:
        failed = bench.failed[0].reason if bench.failed else "no run counts"
        raise firstbyte.Error(3, failed, bench)
    trace = firstbyte.run("trace", "--", *words, runs=1, no_overhead=True, no_samples=True, no_runtimes=True, export_json="-",
                          environment=environment, **options)
    of_empty = bench.results[1].phases.total if len(bench.results) > 1 else None
    return Start(bench.results[0], Loads(trace.results[0].loads, root), of_empty.median if of_empty else None)
