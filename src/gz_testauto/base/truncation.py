"""What is shown of a long message: its beginning, which has the cause, and its end.

Owns how long a message may be where people read it. The whole of it is kept for whoever needs it:
an error has it as ``full``, results keep the full cause of every invalid attempt, nodes write it
into their log file, and the command line into a file that it names.
"""

import logging
import re
from typing import Sequence

MAX_LENGTH = 500
"""Characters of one line of a message that is shown."""
MAX_NAMES = 5
"""So many names are listed in a message; of more than that it is told how many they are."""
_LEFT_OUT = " [...] "
_END = 150
_BEGIN = MAX_LENGTH - _END - len(_LEFT_OUT)

_LOGGER = logging.getLogger("gz_testauto.full_messages")
_LOGGER.setLevel(logging.INFO)  # whatever a node lets its console show


def truncate(message: str) -> str:
    """The message with the middle of each line left out that is too long to read."""
    return (
        "\n".join(map(_brief_line, message.splitlines())) if len(message) > MAX_LENGTH else message
    )


def join_truncated(names: Sequence[str]) -> str:
    """Names for a message, the first few and how many more there are."""
    more = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


def log_untruncated(message: str) -> None:
    """Put a message whose brief form is being shown into the log of this process, where it has
    one: in a node that is its log file and not its console."""
    if truncate(message) != message:
        _LOGGER.info("a message in full: %s", message)


def _brief_line(line: str) -> str:
    if len(line) <= MAX_LENGTH:
        return line
    begin = re.sub(r"\S*$", "", line[:_BEGIN]) or line[:_BEGIN]
    end = re.sub(r"^\S*", "", line[-_END:]) or line[-_END:]
    return begin.rstrip() + _LEFT_OUT + end.lstrip()
