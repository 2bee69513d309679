"""A project that uses the plugin: `tool` is the program, which tests/integration/packages.rs changes."""
import sys

import pytest


def test_plain(startup):
    start = startup(sys.executable, "-I", "-S", "tool.py")
    assert start.counts["processes"] == 1


@pytest.mark.startup(without=["colorsys"], imports=500, writes=1)
def test_limits(startup):
    startup(sys.executable, "-I", "-S", "tool.py")


@pytest.mark.startup(budget="1000x", runs=10)
def test_time(startup):
    assert startup(sys.executable, "-I", "-S", "tool.py").relative.ratio > 0
