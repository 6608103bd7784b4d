"""Messages as lines of JSON, both ways, by msgspec: fast, and as strict as `bots.faults`. No Django."""

from collections.abc import Mapping
from typing import Any

import msgspec

from bots.faults import protocol_fault, read_strictly


def encode(message: Mapping[str, Any]) -> bytes:
    """Return a message as the line that a bot reads."""
    return msgspec.json.encode(message) + b"\n"


def parse_object(line: bytes) -> dict[str, Any]:
    """Return the JSON object of a line, by the letter of RFC 8259 and stricter: unique keys, 64-bit numbers, no NUL.

    Raises:
        BotFault: protocol.
    """
    try:
        answer = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise protocol_fault("not JSON", line, str(error)) from error
    if type(answer) is not dict:
        raise protocol_fault("expected one JSON object", line)
    if not is_plain(line, answer):
        read_strictly(line)
    return answer


def is_plain(line: bytes, answer: dict[str, Any]) -> bool:
    """Whether this object is certainly fine: flat, small, no escapes, no key twice.

    Without escapes every quotation mark begins or ends a string, so a key that came twice
    leaves more marks in the line than the decoded object accounts for.
    """
    if b"\\" in line:
        return False
    strings = len(answer)
    for value in answer.values():
        kind = type(value)
        if kind is str:
            strings += 1
        elif kind is not int or not -(1 << 53) < value < 1 << 53:
            return False
    return line.count(b'"') == 2 * strings
