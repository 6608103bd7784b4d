"""Serve static files: hashed and compressed by `collectstatic`, from memory-mapped knowledge of what there is."""

import re
from typing import Any

from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile
from whitenoise.storage import CompressedManifestStaticFilesStorage

OWN = ("soureh_site/", "bots/", "games/", "ladder/")


class HashedStorage(CompressedManifestStaticFilesStorage):
    """Names with a hash of the content, in `import` statements of ES modules too."""

    support_js_module_import_aggregation = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Others' scripts are megabytes that import nothing by a path; searching them took most of the time.
        scripts = self._patterns.pop("*.js")
        self._patterns |= {f"{folder}*.js": scripts for folder in OWN}

    def url_converter(self, name: str, hashed_files: Any, template: str | None = None, **options: Any) -> Any:
        """Return what rewrites one reference in file `name`.

        Packages name source maps that they do not ship, and modules in comments: such a reference stays as it is.
        In our own files one that leads nowhere is an error.
        """
        convert = super().url_converter(name, hashed_files, template, **options)
        if name.startswith(OWN):
            return convert

        def convert_or_keep(match: re.Match[str]) -> str:
            try:
                return str(convert(match))
            except ValueError:
                return match[0]

        return convert_or_keep


class StaticFiles(WhiteNoiseMiddleware):
    """WhiteNoise with whole responses: under ASGI a file that Django reads in steps is read at once anyway."""

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
        """Answer with the file, or with what its headers say (not modified, range)."""
        found = static_file.get_response(request.method, request.META)
        body = b""
        if found.file is not None:
            with found.file as file:
                body = file.read()
        return HttpResponse(body, status=int(found.status), headers=dict(found.headers))
