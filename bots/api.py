"""Bots and their versions over HTTP: the same doors as the pages, in JSON.

Also what the API of every room shares: pages of lists, and refusals that say what is wrong.
"""

from typing import Any

from django.db.models import QuerySet, Subquery
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field, extend_schema_view
from rest_framework import mixins, parsers, permissions, serializers, status, viewsets
from rest_framework.decorators import action
from rest_framework.exceptions import APIException, NotFound
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle

from bots.models import Bot, BotVersion
from bots.parsers import JSONParser
from bots.rates import HOUR_S, left_s, may_try_upload
from bots.upload_rules import ENTRY
from bots.uploads import UploadError
from bots.versions import (
    PUBLIC_STATES,
    NameRefused,
    NotActivated,
    NoteRefused,
    PausedError,
    QuotaError,
    Refusal,
    Unchanged,
    activate,
    add_version,
    error_text,
    limit_sentences,
    playing,
    read_file,
    with_active,
)
from bots.views import download

REFUSALS = {
    PausedError: (503, "paused"),
    QuotaError: (429, "quota"),
    NameRefused: (400, "name"),
    NoteRefused: (400, "note"),
}


class Pages(CursorPagination):
    """Pages of a list by keyset: a page costs the same wherever it lies."""

    page_size = 50
    max_page_size = 200
    page_size_query_param = "limit"
    ordering = "-id"

    def decode_cursor(self, request: Request) -> Cursor | None:
        """Return the cursor of the address. One with a NUL, which no database takes everywhere, is not found."""
        cursor = super().decode_cursor(request)
        if cursor is not None and "\0" in str(cursor.position):
            raise NotFound(self.invalid_cursor_message)
        return cursor

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any] | None:
        """Return the page; a cursor that somebody made up is not found, like one that cannot be read."""
        try:
            return super().paginate_queryset(queryset, request, view)
        except ValueError as error:
            raise NotFound(self.invalid_cursor_message) from error


class Refused(APIException):
    """A request that is understood and refused; `extra` stands beside `detail` and `code` in the answer."""

    def __init__(self, detail: str, *, status_code: int, code: str, **extra: Any) -> None:
        super().__init__(detail, code)
        self.status_code = status_code
        self.extra = extra


class UploadThrottle(BaseThrottle):
    """How often one account may try to upload, here and on the page together."""

    def allow_request(self, request: Request, view: Any) -> bool:
        return request.user.pk is None or may_try_upload(request.user.pk)

    def wait(self) -> float:
        return left_s(HOUR_S)


class BotSerializer(serializers.ModelSerializer[Bot]):
    owner = serializers.SerializerMethodField(help_text="Public name of the owner; null for a house bot.")
    playing_version = serializers.IntegerField(
        read_only=True,
        allow_null=True,
        help_text="Number of the version that plays: the one its owner activated, or the newest that may.",
    )

    class Meta:
        model = Bot
        fields = ["slug", "name", "about", "owner", "playing_version", "created_at"]
        read_only_fields = ["slug", "name", "created_at"]

    @extend_schema_field(serializers.CharField(allow_null=True))
    def get_owner(self, bot: Bot) -> str | None:
        return bot.owner.get_username() if bot.owner else None


class VersionSerializer(serializers.ModelSerializer[BotVersion]):
    """A version. What only its owner may know is null for others."""

    OWNERS = ("state_note", "file_name")

    bot = serializers.CharField(source="bot.slug", read_only=True, help_text="The bot's slug.")
    is_active = serializers.BooleanField(read_only=True, help_text="Whether it is the version that plays.")
    note = serializers.CharField(read_only=True, help_text="What its owner says is new.")
    sha256 = serializers.CharField(source="source_id", read_only=True, help_text="Of what was uploaded.")
    size = serializers.IntegerField(read_only=True, help_text="Of what was uploaded, in bytes.")
    file_name = serializers.CharField(read_only=True, allow_null=True, help_text="Owner only.")
    state_note = serializers.CharField(read_only=True, allow_null=True, help_text="Owner only.")

    class Meta:
        model = BotVersion
        fields = [
            *("bot", "number", "is_active", "state", "state_note", "note"),
            *("file_name", "size", "sha256", "uploaded_at"),
        ]
        read_only_fields = fields

    def to_representation(self, version: BotVersion) -> dict[str, Any]:
        shown = super().to_representation(version)
        if not version.bot.is_owned_by(self.context["request"].user):
            shown.update(dict.fromkeys(self.OWNERS))
        return shown


class SourceSerializer(serializers.Serializer[BotVersion]):
    """A Python file, as a file or as text, or a zip."""

    file = serializers.FileField(
        required=False, allow_empty_file=True, help_text="One .py, or a .zip with bot.py at its root (multipart)."
    )
    note = serializers.CharField(
        required=False, allow_blank=True, help_text="What is new, in up to 200 characters; public."
    )

    def get_fields(self) -> dict[str, "serializers.Field[Any, Any, Any, Any]"]:
        """Add the field that cannot be declared: `source` is a serializer's own word."""
        source = serializers.CharField(
            required=False, trim_whitespace=False, allow_blank=True, help_text="The source as text, instead of a file."
        )
        # NUL is for `uploads` to refuse, which says where it stands.
        source.validators = []
        return {**super().get_fields(), "source": source}

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        if ("file" in data) == ("source" in data):
            raise serializers.ValidationError({"file": _("Send either a file or a source.")})
        return data


class NewBotSerializer(SourceSerializer):
    """A new bot with its first version."""

    name = serializers.CharField(allow_blank=True, help_text="2 to 32 characters, unlike any name in use.")


def own_bot(request: Request, slug: str) -> Bot:
    """Return one of the caller's own bots; Http404 for anybody else's, as if it were not there."""
    return get_object_or_404(Bot, slug=slug, owner_id=request.user.pk, owner__isnull=False)


def visible_versions(request: Request, bot: Bot) -> QuerySet[BotVersion]:
    """Return the versions of `bot` that the caller may know of, newest first."""
    versions = with_active(bot.versions.select_related("bot").order_by("-number"))
    return versions if bot.is_owned_by(request.user) else versions.filter(state__in=PUBLIC_STATES)


def store(request: Request, data: dict[str, Any], *, bot: Bot | None = None) -> BotVersion:
    """Store an upload for the caller. Refused says why not, and for a syntax error where."""
    file = data.get("file")
    file_name = file.name if file else ENTRY
    try:
        content = read_file(file) if file else data["source"].encode("utf-8", "surrogatepass")
        named = {"name": data.get("name", ""), "note": data.get("note", "")}
        version = add_version(request.user, bot=bot, file_name=file_name, data=content, **named)
        return visible_versions(request, version.bot).get(pk=version.pk)
    except UploadError as error:
        place = {"member": error.member, "line": error.line, "column": error.column}
        raise Refused(error_text(error, file_name), status_code=400, code="upload", **place) from error
    except Unchanged as refusal:
        raise Refused(str(refusal), status_code=409, code="unchanged", version=refusal.version.number) from refusal
    except Refusal as refusal:
        status_code, code = REFUSALS[type(refusal)]
        raise Refused(str(refusal), status_code=status_code, code=code) from refusal


class BotPages(Pages):
    ordering = "name"


LIMITS = "Limits:\n" + "\n".join(f"- {sentence}" for sentence in limit_sentences())
UPLOAD_PARSERS = [parsers.MultiPartParser, parsers.FormParser, JSONParser]
SLUG = OpenApiParameter("bot", str, OpenApiParameter.PATH, description="The bot's slug.")
NUMBER = OpenApiParameter("number", int, OpenApiParameter.PATH, description="The version's number.")


@extend_schema_view(
    list=extend_schema(summary="All bots", tags=["bots"]),
    retrieve=extend_schema(summary="One bot", tags=["bots"]),
    partial_update=extend_schema(summary="Change what your bot says about itself", tags=["bots"]),
)
class BotViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, mixins.UpdateModelMixin, viewsets.GenericViewSet[Bot]
):
    serializer_class = BotSerializer
    pagination_class = BotPages
    lookup_field = "slug"
    lookup_value_regex = "[-a-zA-Z0-9_]+"
    http_method_names = ["get", "head", "options", "post", "patch"]

    def get_queryset(self) -> QuerySet[Bot]:
        number = Subquery(playing("pk").values("number")[:1])
        bots = Bot.objects.select_related("owner").annotate(playing_version=number)
        if self.action == "partial_update":
            return bots.filter(owner_id=self.request.user.pk, owner__isnull=False)
        return bots

    def get_parsers(self) -> list[parsers.BaseParser]:
        return [parser() for parser in UPLOAD_PARSERS]

    def get_throttles(self) -> list[Any]:
        return super().get_throttles() + ([UploadThrottle()] if self.action == "create" else [])

    @extend_schema(
        summary="Upload a new bot",
        description=f"Store the first version of a new bot; it plays its trial match next.\n\n{LIMITS}",
        tags=["bots"],
        request=NewBotSerializer,
        responses={201: VersionSerializer},
    )
    def create(self, request: Request) -> Response:
        """Store the first version of a new bot; it plays its trial match next."""
        data = NewBotSerializer(data=request.data)
        data.is_valid(raise_exception=True)
        version = store(request, data.validated_data)
        return Response(VersionSerializer(version, context={"request": request}).data, status.HTTP_201_CREATED)


class VersionPages(Pages):
    ordering = "-number"


@extend_schema(parameters=[SLUG])
@extend_schema_view(
    list=extend_schema(summary="Versions of a bot, newest first", tags=["bots"]),
    retrieve=extend_schema(
        summary="One version and the state of its trial",
        tags=["bots"],
        parameters=[NUMBER],
    ),
)
class VersionViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[BotVersion]):
    """Versions. Those that have not passed their trial are shown to their owner only."""

    serializer_class = VersionSerializer
    pagination_class = VersionPages
    queryset = BotVersion.objects.none()
    lookup_field = "number"
    lookup_value_regex = "[0-9]{1,9}"
    permission_classes = [permissions.IsAuthenticatedOrReadOnly]

    def get_queryset(self) -> QuerySet[BotVersion]:
        if getattr(self, "swagger_fake_view", False):
            return BotVersion.objects.none()
        return visible_versions(self.request, get_object_or_404(Bot, slug=self.kwargs["bot"]))

    def get_parsers(self) -> list[parsers.BaseParser]:
        return [parser() for parser in UPLOAD_PARSERS]

    def get_throttles(self) -> list[Any]:
        return super().get_throttles() + ([UploadThrottle()] if self.action == "create" else [])

    @extend_schema(
        summary="Upload the next version",
        description=f"Store the next version of one of your bots; it plays its trial match next.\n\n{LIMITS}",
        tags=["bots"],
        request=SourceSerializer,
        responses={201: VersionSerializer},
    )
    def create(self, request: Request, bot: str) -> Response:
        """Store the next version of one of your bots; it plays its trial match next."""
        data = SourceSerializer(data=request.data)
        data.is_valid(raise_exception=True)
        version = store(request, data.validated_data, bot=own_bot(request, bot))
        return Response(self.get_serializer(version).data, status.HTTP_201_CREATED)

    @extend_schema(
        summary="Let a version of yours be the one that plays",
        tags=["bots"],
        parameters=[NUMBER],
        request=None,
        responses=VersionSerializer,
    )
    @action(detail=True, methods=["post"])
    def activate(self, request: Request, bot: str, number: str) -> Response:
        """Let one of your versions play from the next pairing on; it has to be ready.

        An older one then stays until you activate another. Once you activate the newest that is ready, later ones
        take over again as they pass their trials.
        """
        version = get_object_or_404(own_bot(request, bot).versions.select_related("bot"), number=number)
        try:
            activate(request.user, version)
        except NotActivated as refusal:
            raise Refused(str(refusal), status_code=409, code="not_ready") from refusal
        return Response(self.get_serializer(self.get_queryset().get(pk=version.pk)).data)

    @extend_schema(
        summary="The file that you uploaded",
        tags=["bots"],
        parameters=[NUMBER],
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
    )
    @action(detail=True, permission_classes=[permissions.IsAuthenticated])
    def source(self, request: Request, bot: str, number: str) -> HttpResponse:
        """Return the very bytes that were uploaded; to their owner only, 404 for anybody else."""
        versions = own_bot(request, bot).versions.select_related("bot", "source")
        return download(get_object_or_404(versions, number=number))
