"""Pages that renew themselves: an open one asks for its own address again, and gets its changing parts alone."""

from django.http import HttpRequest


def is_update(request: HttpRequest) -> bool:
    """Tell whether an open page asks for its changing parts alone."""
    return request.headers.get("HX-Request") == "true"
