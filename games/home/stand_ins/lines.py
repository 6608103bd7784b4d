"""Messages as lines of JSON, both ways, by the standard library: as strict as the site. Stands in for `bots.lines`."""

import json
from collections.abc import Mapping
from typing import Any

from bots.faults import protocol_fault, read_strictly


def encode(message: Mapping[str, Any]) -> bytes:
    """Return a message as the line that a bot reads."""
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def parse_object(line: bytes) -> dict[str, Any]:
    """Return the JSON object of a line.

    Raises:
        BotFault: protocol.
    """
    try:
        answer = json.loads(line.decode())
        # A lone surrogate is no character, though the escape for one is JSON.
        json.dumps(answer, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise protocol_fault("not JSON", line, str(error)) from error
    if type(answer) is not dict:
        raise protocol_fault("expected one JSON object", line)
    read_strictly(line)
    return answer
