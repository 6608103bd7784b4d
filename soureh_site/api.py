"""The API as a whole: its addresses, its errors, its description and the pages about it.

What it does is written in the `api.py` of each room.
"""

from typing import Any

from csp.decorators import csp_update
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import include, path, re_path
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter
from rest_framework.views import APIView, exception_handler

from bots.api import BotViewSet, VersionViewSet
from games.api import RecordView, TrialView
from games.author_api import DebriefView, ReproducerView, RetryView
from ladder.api import EntryViewSet, LadderViewSet, MatchViewSet, PairingViewSet
from soureh_site.tokens import api_token

ERROR = {
    "type": "object",
    "description": "A request that failed. Some codes come with more keys, such as `line` and `column`.",
    "properties": {
        "detail": {"type": "string", "description": "A sentence for people."},
        "code": {"type": "string", "description": "A word for programs, such as `not_found`, `quota` or `upload`."},
        "fields": {
            "type": "object",
            "description": "By field what is wrong with it; only with code `invalid`.",
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
        },
    },
    "required": ["detail", "code"],
}


def error_response(error: Exception, context: dict[str, Any]) -> Response | None:
    """Return any refusal as `{"detail", "code", …}`; None for what is our failure."""
    response = exception_handler(error, context)
    if response is None:
        return None
    if isinstance(error, ValidationError):
        fields = response.data if isinstance(response.data, dict) else {"non_field_errors": response.data}
        response.data = {"detail": _("Some values are not valid."), "code": "invalid", "fields": fields}
        return response
    detail = response.data["detail"]
    response.data = {"detail": detail, "code": detail.code, **getattr(error, "extra", {})}
    return response


def describe_errors(result: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
    """Add to every operation of the schema what its refusals look like."""
    result["components"]["schemas"]["Error"] = ERROR
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    for operations in result["paths"].values():
        for operation in operations.values():
            operation["responses"]["4XX"] = {"content": content, "description": "Refused."}
    return result


class NoSuchAddress(APIView):
    """What is below the API's address and is not there, said in JSON."""

    permission_classes = [AllowAny]

    @extend_schema(exclude=True)
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        return super().dispatch(request, *args, **kwargs)

    def http_method_not_allowed(self, request: HttpRequest | Request, *args: Any, **kwargs: Any) -> Response:
        raise NotFound

    def options(self, request: HttpRequest | Request, *args: Any, **kwargs: Any) -> Response:
        raise NotFound


# Swagger UI draws with style elements and with images in the page itself.
@csp_update({"style-src": ["'unsafe-inline'"], "img-src": ["data:"]})
def api_docs(request: HttpRequest) -> HttpResponse:
    """Introduce the API and show all that it can do."""
    return render(request, "soureh_site/api_docs.html", {"site": request.build_absolute_uri("/")[:-1]})


router = SimpleRouter()
router.register("ladders", LadderViewSet, "api-ladder")
router.register("bots", BotViewSet, "api-bot")
router.register(r"bots/(?P<bot>[-a-zA-Z0-9_]+)/versions", VersionViewSet, "api-version")
router.register("entries", EntryViewSet, "api-entry")
router.register("matches", MatchViewSet, "api-match")
router.register("pairings", PairingViewSet, "api-pairing")

v1 = [
    path("schema/", SpectacularAPIView.as_view(), name="api-schema"),
    path("bots/<slug:bot>/versions/<int:number>/trial/", TrialView.as_view(), name="api-trial"),
    path("bots/<slug:bot>/versions/<int:number>/retry/", RetryView.as_view(), name="api-retry"),
    path("matches/<slug:code>/debrief/", DebriefView.as_view(), name="api-debrief"),
    path("matches/<slug:code>/seats/<int:seat>/reproducer/", ReproducerView.as_view(), name="api-reproducer"),
    path("matches/<slug:code>/record/", RecordView.as_view(), name="api-record"),
    *router.urls,
    re_path("", NoSuchAddress.as_view()),
]
urlpatterns = [
    path("", api_docs, name="api_docs"),
    path("token/", api_token, name="api_token"),
    path("v1/", include(v1)),
]
