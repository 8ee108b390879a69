"""Truncate long messages for display: keep the start, which contains the cause, and the end."""

import logging
import re
from typing import Sequence

MAX_LENGTH = 500  # characters of one line
MAX_NAMES = 5
_LEFT_OUT = " [...] "
_END = 150
_BEGIN = MAX_LENGTH - _END - len(_LEFT_OUT)

_LOGGER = logging.getLogger("gz_testauto.full_messages")
_LOGGER.setLevel(logging.INFO)  # independent of the level of a node's console


def truncate(message: str) -> str:
    return (
        "\n".join(map(_truncate_line, message.splitlines()))
        if len(message) > MAX_LENGTH
        else message
    )


def join_truncated(names: Sequence[str], max_names: int = MAX_NAMES) -> str:
    omitted_count = len(names) - max_names
    return ", ".join(names[:max_names]) + (
        f" and {omitted_count} more" if omitted_count > 0 else ""
    )


def log_untruncated(message: str) -> None:
    """Write the full message to the log file of a node, but not to its console, if :func:`truncate`
    would shorten it."""
    if truncate(message) != message:
        _LOGGER.info("full message: %s", message)


def _truncate_line(line: str) -> str:
    if len(line) <= MAX_LENGTH:
        return line
    begin = re.sub(r"\S*$", "", line[:_BEGIN]) or line[:_BEGIN]
    end = re.sub(r"^\S*", "", line[-_END:]) or line[-_END:]
    return begin.rstrip() + _LEFT_OUT + end.lstrip()
