"""What the pages of strengths show, over HTTP: mixed into the viewsets of ladders and entries. All read-only."""

import itertools
from typing import Any

from django.db.models import Q
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.exceptions import NotFound
from rest_framework.pagination import LimitOffsetPagination
from rest_framework.request import Request
from rest_framework.response import Response

from ladder import fits
from ladder.models import Entry, Fit, LadderEvent, RatingChange, Strength, StrengthPoint
from ladder.standings import Standings, version_standings
from ladder.strength_views import HeadToHead, asked_number, compared, meetings

MATRIX = 50
NEVER = HeadToHead(0, 0, 0)


class ByPlace(LimitOffsetPagination):
    """Pages by a place in the list: ranks move while one reads."""

    default_limit = 100
    max_limit = 500


class MatrixPages(LimitOffsetPagination):
    """A part of the standings, best first, and with it as long a part of those whom it is compared with."""

    default_limit = 16
    max_limit = MATRIX

    def others(self, request: Request, standings: Standings) -> list[Entry]:
        """Return the entries from the place `against` on, from 0; those of the page itself unless it is given."""
        start = asked_number(request, "against", least=0, otherwise=self.get_offset(request))
        found: list[Entry] = standings[start : start + (self.get_limit(request) or self.default_limit)]
        return found


class VersionStrengthSerializer(serializers.ModelSerializer[Strength]):
    """What the last fit says of one version, or of a person."""

    entry = serializers.IntegerField(source="entry_id", read_only=True)
    name = serializers.CharField(source="entry.name", read_only=True)
    version = serializers.IntegerField(source="version.number", read_only=True, allow_null=True)
    half_width = serializers.FloatField(read_only=True, help_text="Of the 95 % interval.")

    class Meta:
        model = Strength
        fields = ["entry", "name", "version", "strength", "half_width", "pairings", "is_current"]
        read_only_fields = fields


class MeetingSerializer(serializers.Serializer[Any]):
    """How an entry fared against another, and what the fit expects of it."""

    entry = serializers.IntegerField()
    other = serializers.IntegerField()
    ahead = serializers.IntegerField()
    level = serializers.IntegerField()
    behind = serializers.IntegerField()
    chance = serializers.FloatField(allow_null=True, help_text="Of ending ahead from now on; a tie counts half.")


class OpponentSerializer(MeetingSerializer):
    """The same, with the other's name."""

    name = serializers.CharField(help_text="The other's.")


class FitSerializer(serializers.ModelSerializer[Fit]):
    """How the last fit came about."""

    seat_effects = serializers.DictField(
        source="facts.seat_effects", help_text="By the table's size: what each seat adds to a strength, in Elo."
    )
    ties = serializers.DictField(source="facts.ties", help_text="By how many are level: the tie parameter.")
    dispersion = serializers.FloatField(
        source="facts.dispersion", help_text="How much more the places vary than the model says."
    )

    class Meta:
        model = Fit
        fields = ["number", "made_at", "elapsed_ms", "seat_effects", "ties", "dispersion"]
        read_only_fields = fields


class EventSerializer(serializers.ModelSerializer[LadderEvent]):
    """What was done to a ladder, by whom (null: by the site) and why."""

    by = serializers.CharField(source="by.username", read_only=True, allow_null=True)

    class Meta:
        model = LadderEvent
        fields = ["at", "by", "what", "subject", "reason", "effect"]
        read_only_fields = fields


class ChangeSerializer(serializers.ModelSerializer[RatingChange]):
    """A line of the ledger: what one pairing did to an entry's rating."""

    pairing = serializers.IntegerField(source="pairing_id", read_only=True)
    version = serializers.IntegerField(source="version.number", read_only=True, allow_null=True)

    class Meta:
        model = RatingChange
        fields = ["number", "nth", "pairing", "version", "seat", "place", "k", "before", "after", "rated_at"]
        read_only_fields = fields


class PointSerializer(serializers.ModelSerializer[StrengthPoint]):
    """An entry's strength as it was fitted at some time."""

    version = serializers.IntegerField(source="version.number", read_only=True, allow_null=True)

    class Meta:
        model = StrengthPoint
        fields = ["made_at", "nth", "version", "strength", "half_width"]
        read_only_fields = fields


def _paged(view: Any, rows: Any, serializer: type[serializers.BaseSerializer[Any]]) -> Response:
    """Answer with the page of `rows` that the view's request asks for."""
    answer: Response = view.get_paginated_response(serializer(view.paginate_queryset(rows), many=True).data)
    return answer


def _meeting(pair: tuple[int, int], met: HeadToHead | None, chance: float | None) -> dict[str, Any]:
    return {"entry": pair[0], "other": pair[1], **(met or NEVER)._asdict(), "chance": chance}


class LadderStrengths:
    """Actions of a ladder: its versions, its matrix, its fit, its history."""

    @extend_schema(summary="Every version's strength", tags=["ladders"], responses=VersionStrengthSerializer(many=True))
    @action(detail=True, pagination_class=ByPlace, filter_backends=[])
    def versions(self: Any, request: Request, slug: str) -> Response:
        """Return every version that has played in the ladder, strongest first."""
        return _paged(self, version_standings(self.get_object()), VersionStrengthSerializer)

    @extend_schema(
        summary="Who fared how against whom",
        tags=["ladders"],
        parameters=[
            OpenApiParameter(
                "against", int, description="Where the others begin in the standings, from 0; `offset` by default."
            )
        ],
        responses=MeetingSerializer(many=True),
    )
    @action(detail=True, pagination_class=MatrixPages, filter_backends=[])
    def matrix(self: Any, request: Request, slug: str) -> Response:
        """Return how those of one part of the standings fared against those of another, or among themselves."""
        ladder = self.get_object()
        standings: Any = Standings(ladder)
        entries = [entry.pk for entry in self.paginate_queryset(standings)]
        others = [other.pk for other in self.paginator.others(request, standings)]
        met, chances = compared(ladder, {*entries, *others})
        rows = [
            _meeting(pair, met.get(pair), chances.get(pair))
            for pair in itertools.product(entries, others)
            if pair in met or pair in chances
        ]
        answer: Response = self.get_paginated_response(MeetingSerializer(rows, many=True).data)
        return answer

    @extend_schema(summary="How the last fit came about", tags=["ladders"], responses=FitSerializer)
    @action(detail=True, pagination_class=None, filter_backends=[])
    def fit(self: Any, request: Request, slug: str) -> Response:
        """Return the last fit's facts; 404 before the first."""
        latest = self.get_object().fits.defer("packed").first()
        if latest is None:
            raise NotFound
        return Response(FitSerializer(latest).data)

    @extend_schema(summary="What was done to a ladder", tags=["ladders"], responses=EventSerializer(many=True))
    @action(detail=True, pagination_class=ByPlace, filter_backends=[])
    def events(self: Any, request: Request, slug: str) -> Response:
        """Return the ladder's history, newest first."""
        return _paged(self, self.get_object().events.select_related("by"), EventSerializer)


class EntryStrengths:
    """Actions of an entry: its lines in the ledger, how its strength went, and how it fared against whom."""

    @extend_schema(summary="An entry's lines in the ledger", tags=["entries"], responses=ChangeSerializer(many=True))
    @action(detail=True, pagination_class=ByPlace, filter_backends=[])
    def changes(self: Any, request: Request, pk: str) -> Response:
        """Return what each rated pairing did to the entry's rating, newest first."""
        entry: Entry = self.get_object()
        return _paged(self, entry.changes.select_related("version").order_by("-number"), ChangeSerializer)

    @extend_schema(summary="How an entry's strength went", tags=["entries"], responses=PointSerializer(many=True))
    @action(detail=True, pagination_class=ByPlace, filter_backends=[])
    def points(self: Any, request: Request, pk: str) -> Response:
        """Return the points of the entry's chart, newest first."""
        entry: Entry = self.get_object()
        return _paged(self, entry.points.select_related("version").order_by("-pk"), PointSerializer)

    @extend_schema(summary="Whom an entry may meet", tags=["entries"], responses=OpponentSerializer(many=True))
    @action(detail=True, pagination_class=ByPlace, filter_backends=[])
    def opponents(self: Any, request: Request, pk: str) -> Response:
        """Return everybody else in the standings, best first: how the entry fared, and what the fit expects of it."""
        entry: Entry = self.get_object()
        page = self.paginate_queryset(Standings(entry.ladder, among=~Q(pk=entry.pk)))
        ids = [other.pk for other in page]
        met = meetings(Q(entry=entry, other__in=ids) | Q(entry__in=ids, other=entry))
        ahead = fits.chances_against(entry.ladder, entry, page)
        rows = [
            {
                **_meeting(
                    (entry.pk, other.pk),
                    met.get((entry.pk, other.pk)),
                    1 - ahead[other.pk] if other.pk in ahead else None,
                ),
                "name": other.name,
            }
            for other in page
        ]
        answer: Response = self.get_paginated_response(OpponentSerializer(rows, many=True).data)
        return answer
