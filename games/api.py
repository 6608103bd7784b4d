"""Matches over HTTP: who plays, how it ended, the record; and to a bot's owner, how its trial went.

Of a match that has not finished nothing is told but who plays and since when.
"""

from typing import Any

from django.db.models import Prefetch, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import permissions, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from bots.api import NUMBER, SLUG, Refused, own_bot
from games.dispatch import place_in_queue
from games.models import Match, Seat
from games.replay import record
from games.sight import visible_matches

CODE = OpenApiParameter("code", str, OpenApiParameter.PATH, description="The match's code.")


class SeatSerializer(serializers.ModelSerializer[Seat]):
    bot = serializers.CharField(source="bot.slug", read_only=True, allow_null=True, help_text="The bot's slug.")
    version = serializers.IntegerField(source="version.number", read_only=True, allow_null=True)
    user = serializers.CharField(source="user.username", read_only=True, allow_null=True, help_text="A person's name.")

    class Meta:
        model = Seat
        fields = ["entrant", "seat", "name", "bot", "version", "user", "place", "total", "fault"]
        read_only_fields = fields
        extra_kwargs = {"fault": {"allow_null": True}}


class MatchSerializer(serializers.ModelSerializer[Match]):
    """A match. How it went is null until it has finished."""

    # Known to the row before the end, when a match is on show; nobody is told before that.
    AT_THE_END: tuple[str, ...] = ("how", "decisions", "hands", "faults", "finished_at")
    SEATS_AT_THE_END = ("place", "total", "fault")

    preset = serializers.SerializerMethodField()
    players = SeatSerializer(many=True, read_only=True)

    class Meta:
        model = Match
        fields = [
            "code", "kind", "state", "preset", "commitment", "how", "decisions", "hands", "faults",
            "created_at", "started_at", "finished_at", "players",
        ]  # fmt: skip
        read_only_fields = fields
        extra_kwargs = {
            "how": {"allow_null": True},
            "decisions": {"allow_null": True},
            "hands": {"allow_null": True},
            "faults": {"allow_null": True, "help_text": "Of each fault: seat, kind, hand, turn, detail."},
        }

    @extend_schema_field(serializers.CharField())
    def get_preset(self, match: Match) -> str:
        return str(match.rules["preset"])

    def to_representation(self, match: Match) -> dict[str, Any]:
        shown = super().to_representation(match)
        if match.state != Match.State.FINISHED:
            shown.update(dict.fromkeys(self.AT_THE_END))
            for player in shown["players"]:
                player.update(dict.fromkeys(self.SEATS_AT_THE_END))
        return shown


class TrialSerializer(serializers.Serializer[dict[str, Any]]):
    """How a version's trial match went."""

    match = serializers.CharField(source="match.code")
    state = serializers.CharField(source="match.state")
    queue_place = serializers.IntegerField(
        allow_null=True, help_text="How many matches are played up to and with this one; null if it does not wait."
    )
    fault = serializers.CharField(help_text="The fault's kind, or empty.")
    fault_detail = serializers.CharField(help_text="What was seen when the bot faulted.")
    stderr = serializers.CharField(help_text="What the bot wrote to its log, capped.")


def with_players(matches: QuerySet[Match]) -> QuerySet[Match]:
    """Fetch with each match what its seats show. One query more."""
    seats = Seat.objects.select_related("bot", "version", "user").order_by("seat", "entrant")
    return matches.prefetch_related(Prefetch("players", queryset=seats))


class RecordView(APIView):
    """The whole record of a finished match, `soureh-record/1`."""

    @extend_schema(
        operation_id="matches_record_retrieve",
        summary="The record of a finished match",
        tags=["matches"],
        parameters=[CODE],
        responses={200: OpenApiTypes.OBJECT},
    )
    def get(self, request: Request, code: str) -> Response:
        """Return all that is needed to replay and check the match. 404 with code `not_finished` before its end."""
        match = get_object_or_404(visible_matches(request.user).select_related("record"), code=code)
        if match.state != Match.State.FINISHED:
            raise Refused(_("This match has no record: it has not finished."), status_code=404, code="not_finished")
        return Response(record(match))


class TrialView(APIView):
    """A version's trial and log, for its owner."""

    permission_classes = [permissions.IsAuthenticated]

    @extend_schema(
        operation_id="bots_versions_trial_retrieve",
        summary="How the trial of your version went, with its log",
        tags=["bots"],
        parameters=[SLUG, NUMBER],
        responses=TrialSerializer,
    )
    def get(self, request: Request, bot: str, number: int) -> Response:
        """Return the newest trial match of one of your versions. 404 for anybody else's."""
        version = get_object_or_404(own_bot(request, bot).versions, number=number)
        seats = Seat.objects.filter(version=version, match__kind=Match.Kind.TRIAL)
        seat = seats.select_related("match", "log").order_by("-match").first()
        if seat is None:
            raise Http404
        log = getattr(seat, "log", None)
        return Response(
            TrialSerializer(
                {
                    "match": seat.match,
                    "queue_place": place_in_queue(seat.match),
                    "fault": seat.fault,
                    "fault_detail": log.fault_detail if log else "",
                    "stderr": log.stderr if log else "",
                }
            ).data
        )
