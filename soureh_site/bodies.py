"""Refuse requests that nothing here can read, before anything tries: too large, not UTF-8, a NUL in the address."""

import codecs
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.http import HttpRequest, HttpResponse

MAX_BYTES = 4 * 1024 * 1024  # as in deploy/
API = "/api/v1/"
TOO_LARGE = "A request has at most 4 MiB."
NOT_UTF_8 = "A request is written in UTF-8."
HAS_NUL = "An address holds no NUL character."

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Any, Receive, Any], Awaitable[None]]


def bounded(app: App) -> App:
    """Return the ASGI application `app` with an end to what anybody may send it: Django spools whatever comes."""

    async def guarded(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        count = 0

        async def counted() -> Message:
            nonlocal count
            message = await receive()
            count += len(message.get("body", b""))
            # Django takes this for a client that has gone, and says nothing.
            return {"type": "http.disconnect"} if count > MAX_BYTES else message

        if _stated_length(scope) <= MAX_BYTES:
            await app(scope, counted, send)
            if count <= MAX_BYTES:
                return
        kind, body = _refusal(scope["path"], "too_large", TOO_LARGE)
        # What is still to come is not read, so the connection is of no more use.
        headers = [(b"content-type", kind.encode()), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 413, "headers": headers})
        await send({"type": "http.response.body", "body": body.encode()})

    return guarded


def readable(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Refuse a charset but UTF-8, as Python knows some that are no text, and a NUL, which PostgreSQL does not take."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if "\0" in request.path_info or "%00" in request.META.get("QUERY_STRING", ""):
            return _refuse(request, "nul", HAS_NUL)
        # So far only the request itself can have set it, to a name that Python knows.
        if request.encoding is not None:
            if codecs.lookup(request.encoding).name != "utf-8":
                return _refuse(request, "charset", NOT_UTF_8)
            request.encoding = "utf-8"
        return get_response(request)

    return middleware


def _refuse(request: HttpRequest, code: str, sentence: str) -> HttpResponse:
    kind, body = _refusal(request.path, code, sentence)
    return HttpResponse(body, content_type=kind, status=400)


def _stated_length(scope: Message) -> int:
    return next((int(value) for name, value in scope["headers"] if name == b"content-length"), 0)


def _refusal(path: str, code: str, sentence: str) -> tuple[str, str]:
    """Return content type and body, as the API or a page says it."""
    if path.startswith(API):
        return "application/json", json.dumps({"detail": sentence, "code": code})
    return "text/plain; charset=utf-8", sentence + "\n"
