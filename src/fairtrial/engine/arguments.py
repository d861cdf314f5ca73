"""Command-line words of the engine: one option for each field of EngineOptions."""

import argparse
from dataclasses import MISSING, Field, fields
from typing import NoReturn

from fairtrial.engine.options import EngineOptions
from fairtrial.schema.errors import UsageError

_HELP = {
    "port": "TCP port; 0 takes any free one (default 0)",
    "host": "address to listen on",
    "host_row_percent": "share of the host pool for state rows, 1 to 99",
    "host_pool_bytes": "size of the host pool (default: the model's)",
    "model": "laptop or small",
    "device_rows": "state rows of the device tier (default: the model's)",
    "device_pages": "KV pages of the device tier (default: the model's)",
    "snapshot": "where state rows are kept: mid-end, end or page-boundary-K",
    "audit": "check every copy between tiers byte by byte",
    "seed": "seed of the weights (default: the model's)",
    "max_batch": "most requests that run at the same time",
    "served_model_name": "name of the model for clients",
    "token_env": "environment variable that holds the bearer token",
}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint="see --help")


def parse(argv: list[str]) -> EngineOptions:
    """Read the options.

    Args:
        argv: Arguments without the program's name. ``--audit`` alone means true.

    Raises:
        UsageError: An option is unknown, malformed or out of range.
    """
    parser = _Parser(
        prog="fairtrial engine serve", description="Serve the reference engine.", allow_abbrev=False
    )
    for option in fields(EngineOptions):
        _add(parser, option)
    return EngineOptions(**vars(parser.parse_args(argv)))


def _add(parser: argparse.ArgumentParser, option: "Field[object]") -> None:
    flag = f"--{option.name.replace('_', '-')}"
    default = 0 if option.default is MISSING else option.default
    if option.type is bool:
        parser.add_argument(
            flag, nargs="?", const=True, default=default, type=_switch, help=_HELP[option.name]
        )
        return
    kind = int if option.type in (int, int | None) else str
    parser.add_argument(flag, default=default, type=kind, help=_HELP[option.name])


def _switch(word: str) -> bool:
    if word not in {"true", "false"}:
        raise argparse.ArgumentTypeError(f"{word!r} is neither true nor false")
    return word == "true"
