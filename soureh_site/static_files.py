"""Serve static files: hashed and compressed by `collectstatic`, from memory-mapped knowledge of what there is."""

from django.contrib.staticfiles.storage import ManifestStaticFilesStorage
from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile
from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStorage(CompressedManifestStaticFilesStorage):
    """Names with a hash of the content, in `import` statements of ES modules too."""

    support_js_module_import_aggregation = True

    def hashed_name(self, name: str, content=None, filename=None) -> str:
        """Return the hashed name of a file; a source map that a package names but does not ship stays as it is."""
        try:
            return ManifestStaticFilesStorage.hashed_name(self, name, content, filename)
        except ValueError:
            if not name.endswith(".map"):
                raise
            return name


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
