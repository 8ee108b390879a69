"""Extract the messages that report errors from the log of a roslaunch or of another command.

An exception is one message with the lines up to the next empty line. An exception that was raised
while another was handled, as in the shutdown of roslaunch, is omitted.
"""

import re
from typing import AbstractSet, Iterator, List, Optional, Sequence, Tuple

LINE_LENGTH, EXCEPTION_LENGTH = 160, 400
MAX_EXCEPTION_LINES, MAX_OUTPUT_LINES = 6, 3

STAMP = re.compile(r"\[ ?\d+\.\d+(?:, \d+\.\d+)?\]:?")
_ESCAPES = re.compile(r"\x1b(\[[0-9;]*m|\][^\x07]*\x07)")
_ERROR = re.compile(
    r"\b(?:ERROR|FATAL)\b|\[Err\]|^[\w.]*(?:Error|Exception)\b"
    r"|\bwhat\(\):|\berror while loading shared libraries\b"
    r"|^(?:[^\s:]+: )*(?:fatal )?error: |^[^\s:]+: .*\bsyntax error\b"
)
_NO_ERROR = re.compile(r"\[ ?(?:INFO|WARN|DEBUG)\]")
_TRACEBACK = "Traceback (most recent call last):"
_EXCEPTION = re.compile(r"^[\w.]*(?:Error|Exception): ")
_NEXT_EXCEPTION = re.compile(r"(?:During handling of the|The) above exception\b")
_ENDS_EXCEPTION = re.compile(
    r"$|The traceback for the exception|\[\S+\] (?:process has|killing)|process\[|Traceback \("
)
_COMMAND = "returned with code"
_OUTPUT_OF_ROSLAUNCH = re.compile(
    r"$|\.\.\. |Checking log|Press Ctrl-C|Done checking|started roslaunch|NODES|ROS_MASTER_URI"
    r"|WARNING: disk usage"
)
_CAUSE = re.compile(r"(?i)error|not found|no such|denied|cannot|invalid|fail")


def readable(log: bytes) -> str:
    """Return a log as text without the escape sequences for colors and window titles."""
    return _ESCAPES.sub("", log.decode("utf-8", "replace"))


def error_messages(log: str) -> List[str]:
    """Return the messages that report errors, in order and each once."""
    lines = [line.rstrip() for line in log.splitlines()]
    unique = {signature(message): message for message in reversed(list(_extract_messages(lines)))}
    return list(unique.values())[::-1]


def unusual(messages: Sequence[str], usual: AbstractSet[str]) -> List[str]:
    return [message for message in messages if signature(message) not in usual]


def signature(message: str) -> str:
    """Return a message without its time stamps and numbers, for comparisons with other messages."""
    return re.sub(r"\d+", "0", STAMP.sub("", message))


def _extract_messages(lines: Sequence[str]) -> Iterator[str]:
    is_consequence = False
    index = 0
    while index < len(lines):
        line = lines[index].strip()
        start = _exception_start(lines, index)
        if start is not None:
            end, text = _read_exception(lines, start)
            if not is_consequence:
                yield _shorten_middle(text, EXCEPTION_LENGTH)
            is_consequence, index = False, max(end, index + 1)
            continue
        is_consequence = is_consequence or _NEXT_EXCEPTION.match(line) is not None
        if _ERROR.search(line) and not _NO_ERROR.search(line):
            yield _shorten_middle(line, LINE_LENGTH)
        index += 1


def _exception_start(lines: Sequence[str], index: int) -> Optional[int]:
    """Return the index of the line with the name of an exception, which follows its traceback.
    Returns None if no exception or traceback starts at the line ``index``."""
    if lines[index].startswith(_TRACEBACK):
        index += 1
        while index < len(lines) and (lines[index][:1].isspace() or not lines[index]):
            index += 1
        return index if index < len(lines) else None
    return index if _EXCEPTION.match(lines[index]) else None


def _read_exception(lines: Sequence[str], start: int) -> Tuple[int, str]:
    """Return the index of the line after the exception at ``start``, and the exception's text."""
    end = start + 1
    while (
        end < min(len(lines), start + MAX_EXCEPTION_LINES)
        and not _ENDS_EXCEPTION.match(lines[end].strip())
    ):  # fmt: skip
        end += 1
    text = " ".join(line.strip() for line in lines[start:end])
    if _COMMAND in text:
        text = " | ".join([*_output_before(lines, start), text])
    return end, text


def _output_before(lines: Sequence[str], start: int) -> List[str]:
    first = start
    while first > 0 and not _OUTPUT_OF_ROSLAUNCH.match(lines[first - 1].strip()):
        first -= 1
    output = [line.strip() for line in lines[first:start]]
    # Lines that report an error themselves are already among the messages of the log.
    output = [_shorten_middle(line, LINE_LENGTH) for line in output if not _ERROR.search(line)]
    return [line for line in output if _CAUSE.search(line)][:MAX_OUTPUT_LINES] or output[
        -MAX_OUTPUT_LINES:
    ]


def _shorten_middle(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    end = length // 3
    return f"{text[: length - end - 5]} ... {text[-end:]}"
