"""Files that a browser is to keep."""

from django.http import HttpResponse


def attachment(data: bytes, *, name: str, content_type: str) -> HttpResponse:
    """Return a file to keep under this name, and under no circumstances to show."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"}
    return HttpResponse(data, content_type=content_type, headers=headers)
