"""What only the owner of a bot may ask over HTTP: its log, times and fault in a match, reproducers; and a retry."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import permissions, serializers, status
from rest_framework.exceptions import Throttled
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from bots.api import NUMBER, SLUG, Refused, VersionSerializer, own_bot
from bots.rates import HOUR_S, left_s
from games import trials
from games.api import CODE
from games.author_views import decision_number, may_reproduce, may_retry, own_seat, packed_case
from games.debrief import Debrief, debrief
from games.models import Seat

SEAT = OpenApiParameter("seat", int, OpenApiParameter.PATH, description="The seat's number, from 0.")
DECISION = OpenApiParameter(
    "decision",
    int,
    description="Its number; 0 is the bot's start, if it faulted there. By default the fault's or the slowest.",
)


class DecisionSerializer(serializers.Serializer[Any]):
    """One decision that the bot was asked for."""

    number = serializers.IntegerField(help_text="The decision's id, as in the bot's turn.")
    hand = serializers.IntegerField()
    step = serializers.IntegerField(help_text="Where the replay of the hand shows it.")
    move = serializers.CharField(help_text="Empty if the bot faulted instead.")
    cpu_ms = serializers.FloatField(allow_null=True, help_text="CPU of the bot's process.")
    ms = serializers.IntegerField(allow_null=True, help_text="Wall clock.")
    bank_s = serializers.FloatField(allow_null=True, help_text="What was left of the CPU bank afterwards.")
    is_fault = serializers.BooleanField()


class FaultSerializer(serializers.Serializer[Any]):
    """What went wrong: what everybody is told, and what was seen."""

    kind = serializers.CharField()
    detail = serializers.CharField(help_text="What everybody is told.")
    seen = serializers.CharField(help_text="The offending line, exit status, signal or clock.")
    hand = serializers.IntegerField()
    turn = serializers.IntegerField(help_text="The decision's number; 0 at the start.")
    step = serializers.IntegerField(help_text="Where the replay of the hand shows the table as the bot saw it.")
    traceback = serializers.CharField(help_text="The last one in its log, or empty.")
    file = serializers.CharField(help_text="The file of yours in which it broke off, or empty.")
    line = serializers.IntegerField(help_text="The line of that file, or 0.")


class DebriefSerializer(serializers.Serializer[Any]):
    """What you are told of one seat of yours."""

    seat = serializers.IntegerField(source="seat.seat", allow_null=True)
    bot = serializers.CharField(source="seat.bot.slug")
    version = serializers.IntegerField(source="seat.version.number", default=None, allow_null=True)
    stderr = serializers.CharField(help_text="Its log: the beginning and the end, if it is long.")
    seen = serializers.CharField(help_text="What was seen when it faulted, or empty.")
    fault = FaultSerializer(allow_null=True)
    limits = serializers.SerializerMethodField(help_text="As in `hello`.")
    decisions = DecisionSerializer(many=True)

    def get_limits(self, told: Debrief) -> dict[str, float]:
        return told.limits.to_json()


class DebriefView(APIView):
    """Your bots' seats in a match that has ended."""

    permission_classes = [permissions.IsAuthenticated]

    @extend_schema(
        operation_id="matches_debrief_list",
        summary="Log, times and faults of your bots in a match",
        tags=["matches"],
        parameters=[CODE],
        responses=DebriefSerializer(many=True),
    )
    def get(self, request: Request, code: str) -> Response:
        """Return a list with each seat of yours. 404 if you have none; with code `not_finished` before the end."""
        seats = _own_seats(request, code)
        if not seats:
            raise Http404
        match = seats[0].match
        if not match.is_over:
            raise Refused(_("This match has not finished."), status_code=404, code="not_finished")
        told = [debrief(match, seat, getattr(seat, "log", None)) for seat in seats]
        return Response(DebriefSerializer(told, many=True).data)


def _own_seats(request: Request, code: str) -> Sequence[Seat]:
    seats = Seat.objects.filter(match__code=code, bot__owner=request.user.pk).order_by("seat", "entrant")
    return list(seats.select_related("match__record", "bot", "version", "log"))


class WhateverIsAsked(BaseContentNegotiation):
    """Refusals in JSON, whatever the caller accepts: what it came for is no JSON."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser:
        return next(iter(parsers))

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        chosen = next(iter(renderers))
        return chosen, str(chosen.media_type)


class ReproducerView(APIView):
    """A zip that replays one decision of your bot at home."""

    permission_classes = [permissions.IsAuthenticated]
    content_negotiation_class = WhateverIsAsked

    @extend_schema(
        operation_id="matches_reproducer_retrieve",
        summary="A zip that replays one decision of your bot",
        tags=["matches"],
        parameters=[CODE, SEAT, DECISION],
        responses={(200, "application/zip"): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, code: str, seat: int) -> HttpResponse:
        """Return the bot, what it was sent up to that decision, and a script that feeds it. 404 if it was not asked."""
        found = own_seat(request.user, code, seat)
        text = request.query_params.get("decision", "")
        asked = decision_number(text) if text else None
        if not may_reproduce(request.user.pk):
            raise Throttled(left_s(HOUR_S))
        if asked is None:
            asked = debrief(found.match, found, getattr(found, "log", None)).first_to_reproduce
        try:
            return packed_case(found, asked or 0)
        except LookupError as error:
            raise Http404 from error


class RetryView(APIView):
    """A new trial for a version of yours that was set aside."""

    permission_classes = [permissions.IsAuthenticated]

    @extend_schema(
        operation_id="bots_versions_retry_create",
        summary="Retry a version that was set aside",
        tags=["bots"],
        parameters=[SLUG, NUMBER],
        request=None,
        responses={202: VersionSerializer},
    )
    def post(self, request: Request, bot: str, number: int) -> Response:
        """Let the version play a new trial; the count of its faults begins anew. 409 if it is not set aside."""
        version = get_object_or_404(own_bot(request, bot).versions.select_related("bot"), number=number)
        if not may_retry(request.user.pk):
            raise Throttled(left_s(HOUR_S))
        if not trials.retry(version):
            raise Refused(
                _("This version was not retried: only one that was set aside for its faults can be."),
                status_code=409,
                code="not_retried",
            )
        version.refresh_from_db(fields=["state", "state_note"])
        return Response(VersionSerializer(version, context={"request": request}).data, status.HTTP_202_ACCEPTED)
