"""Runs a module as `python -m` would, with a fixed clock, so that two runs can be compared byte for byte."""

import datetime
import runpy
import sys


class Noon(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime.datetime(2026, 7, 28, 12, tzinfo=datetime.timezone.utc).astimezone(tz)


module = sys.argv[1]
del sys.argv[1]
# Loaded first, since libraries use the type itself.
import mcp.server  # noqa: E402

datetime.datetime = Noon
runpy.run_module(module, run_name="__main__", alter_sys=True)
