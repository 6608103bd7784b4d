"""Ladders, standings, entries and the matches of all rooms over HTTP; changes go through `registration`."""

from collections.abc import Callable
from typing import Any

import django_filters
from django.db.models import Exists, OuterRef, QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field, extend_schema_view
from rest_framework import permissions, serializers, status, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from bots.api import Pages, Refused, own_bot
from bots.models import Bot
from games.api import MatchSerializer, with_players
from games.duplicates import seat_in_set
from games.models import Match, Seat
from games.sight import visible_matches
from ladder import registration
from ladder.crosstable import crosstable, with_matches
from ladder.entry_views import note_where
from ladder.history import pairing_of
from ladder.models import Entry, Ladder, Pairing, Round
from ladder.own_entries import own_entries
from ladder.schedule import COMING, coming_rounds
from ladder.standings import SORTS, Standings
from ladder.strength_api import ByPlace, EntryStrengths, LadderStrengths


class LadderSerializer(serializers.ModelSerializer[Ladder]):
    """A ladder; where it has seasons, one of them, and the slugs of its neighbours."""

    previous = serializers.CharField(source="previous.slug", read_only=True, allow_null=True, default=None)
    following = serializers.CharField(source="following.slug", read_only=True, allow_null=True, default=None)

    class Meta:
        model = Ladder
        fields = [
            "slug", "name", "about", "state", "season", "previous", "following", "rules", "seats", "entrants", "unit",
            "ranked_by", "entries_per_owner", "registration_from", "registration_until", "starts_at", "ends_at",
            "schedule", "round_s", "times", "time_zone", "next_round_at", "rounds", "rated", "initial_rating", "k_new",
            "k_settled", "settled_after", "daily_cap",
        ]  # fmt: skip
        read_only_fields = fields


class ScheduleSerializer(serializers.Serializer[Any]):
    """When a ladder's rounds are, if all goes on as it is, and whether one can enter it."""

    rounds = serializers.ListField(child=serializers.DateTimeField(), help_text="The coming ones, soonest first, UTC.")
    registration = serializers.CharField(help_text="Why nobody can enter now; empty if one can.")
    calendar = serializers.URLField(help_text="The same as a feed for calendars (iCalendar).")


class RoundSerializer(serializers.ModelSerializer[Round]):
    """A round that was held; its pairings are at `pairings/?ladder=…&round=…`."""

    class Meta:
        model = Round
        fields = ["number", "started_at"]
        read_only_fields = fields


class EntrySerializer(serializers.ModelSerializer[Entry]):
    ladder = serializers.CharField(source="ladder.slug", read_only=True, help_text="The ladder's slug.")
    bot = serializers.CharField(source="bot.slug", read_only=True, allow_null=True, help_text="The bot's slug.")
    user = serializers.CharField(source="user.username", read_only=True, allow_null=True, help_text="A person's name.")
    name = serializers.CharField(read_only=True)

    class Meta:
        model = Entry
        fields = [
            "id", "ladder", "bot", "user", "name", "state", "rating", "strength", "half_width", "band",
            "is_provisional", "final_rank", "pairings", "won", "drawn", "entered_at",
        ]  # fmt: skip
        read_only_fields = fields


class StandingSerializer(EntrySerializer):
    """An entry where it stands."""

    rank = serializers.IntegerField(
        read_only=True,
        allow_null=True,
        help_text="From 1; who cannot be told apart shares one. Null while too little is known; of a closed ladder the "
        "final rank.",
    )
    recent_change = serializers.FloatField(
        read_only=True, allow_null=True, help_text="Of the rating, over the last ten rated pairings."
    )
    owner_name = serializers.CharField(
        read_only=True, allow_null=True, help_text="Null for a house bot, and for a person."
    )

    class Meta(EntrySerializer.Meta):
        fields = ["rank", *EntrySerializer.Meta.fields, "recent_change", "owner_name"]
        read_only_fields = fields


class PendingSerializer(serializers.Serializer[Any]):
    """A match of an entry's that has not ended, or is not rated yet."""

    match = serializers.CharField(source="code")
    against = serializers.ListField(child=serializers.CharField())
    queue_place = serializers.IntegerField(source="place", allow_null=True, help_text="Null unless it waits.")
    heard_at = serializers.DateTimeField(
        allow_null=True, help_text="The last sign of life of the worker that plays it."
    )
    text = serializers.CharField(help_text="What it waits for, in a sentence.")


class RecentSerializer(serializers.Serializer[Any]):
    """A pairing of an entry's that has been decided."""

    against = serializers.ListField(child=serializers.CharField())
    place = serializers.IntegerField(allow_null=True)
    rating_change = serializers.FloatField(source="change", allow_null=True, help_text="Null if it counts for nothing.")
    why_unrated = serializers.CharField(help_text="In a sentence; empty if it is rated.")
    rated_at = serializers.DateTimeField(source="when", allow_null=True)


class OwnEntrySerializer(serializers.Serializer[Any]):
    """One of your entries, with what it waits for and what it plays."""

    entry = EntrySerializer()
    ready_until = serializers.DateTimeField(
        source="entry.ready_until", allow_null=True, help_text="Of a person: until when you want to be paired."
    )
    next_round_at = serializers.DateTimeField(source="entry.ladder.next_round_at", allow_null=True)
    waits_for = serializers.ListField(
        child=serializers.CharField(),
        help_text="What keeps it from the next round, in sentences; empty if nothing does.",
    )
    pending = PendingSerializer(many=True)
    recent = RecentSerializer(many=True)


class RegistrationSerializer(serializers.Serializer[dict[str, Any]]):
    """Which of your bots enters which ladder; yourself if no bot is named."""

    bot = serializers.CharField(help_text="The slug of one of your bots; left out, you enter yourself.", required=False)
    ladder = serializers.CharField(help_text="The ladder's slug.")


class RatedSeatSerializer(serializers.Serializer[dict[str, Any]]):
    """What a match's pairing did to the rating of one entrant."""

    entrant = serializers.IntegerField()
    before = serializers.FloatField()
    after = serializers.FloatField()
    capped = serializers.FloatField(help_text="Points that the ladder's daily cap withheld; negative of a loss.")


class LadderMatchSerializer(MatchSerializer):
    """A match, and what it counted; those of a duplicate set have the rating changes of the whole in common."""

    AT_THE_END = (*MatchSerializer.AT_THE_END, "why_unrated")

    ladder = serializers.SerializerMethodField(help_text="The ladder's slug; null for a match outside of ladders.")
    round = serializers.SerializerMethodField()
    pairing = serializers.SerializerMethodField(help_text="The id of the pairing, which is what is rated.")
    why_unrated = serializers.SerializerMethodField(help_text="Empty if it is rated, or will be.")
    rating_changes = serializers.SerializerMethodField(help_text="By entrant; empty until it is rated.")

    class Meta(MatchSerializer.Meta):
        fields = [*MatchSerializer.Meta.fields, "ladder", "round", "pairing", "why_unrated", "rating_changes"]
        read_only_fields = fields

    @extend_schema_field(serializers.CharField(allow_null=True))
    def get_ladder(self, match: Match) -> str | None:
        pairing = pairing_of(match)
        return pairing.ladder.slug if pairing else None

    @extend_schema_field(serializers.IntegerField(allow_null=True))
    def get_round(self, match: Match) -> int | None:
        pairing = pairing_of(match)
        return pairing.round.number if pairing else None

    @extend_schema_field(serializers.IntegerField(allow_null=True))
    def get_pairing(self, match: Match) -> int | None:
        pairing = pairing_of(match)
        return pairing.pk if pairing else None

    @extend_schema_field(serializers.CharField(allow_null=True))
    def get_why_unrated(self, match: Match) -> str | None:
        pairing = pairing_of(match)
        return pairing.why_unrated if pairing else None

    @extend_schema_field(RatedSeatSerializer(many=True))
    def get_rating_changes(self, match: Match) -> list[dict[str, Any]]:
        pairing = pairing_of(match)
        if pairing is None or match.state != Match.State.FINISHED:
            return []
        changes = {change.entry_id: change for change in pairing.changes.all()}
        paired = [(one.entrant, changes.get(one.entry_id)) for one in pairing.paired_entries.all()]
        return [
            {"entrant": here, "before": change.before, "after": change.after, "capped": change.capped}
            for entrant, change in paired
            for here in [seat_in_set(entrant, rotation=match.paired.rotation, seats=match.seats)]
            if change
        ]


class PairedMatchSerializer(serializers.Serializer[Any]):
    """One entry in one match of a pairing."""

    match = serializers.CharField(source="match.code")
    state = serializers.CharField(source="match.state")
    seat = serializers.IntegerField(allow_null=True, help_text="From 0; null until it is drawn.")
    points = serializers.IntegerField(allow_null=True)
    place = serializers.IntegerField(allow_null=True)
    fault = serializers.CharField()


class PairedEntrySerializer(serializers.Serializer[Any]):
    """One entry of a pairing; what it came to is null until every match of the pairing has finished."""

    entry = serializers.IntegerField(source="entry.pk", help_text="The entry's id.")
    name = serializers.CharField(source="entry.name")
    bot = serializers.CharField(source="entry.bot.slug", default=None, allow_null=True)
    user = serializers.CharField(source="entry.user.username", default=None, allow_null=True)
    version = serializers.IntegerField(source="version.number", default=None, allow_null=True)
    entrant = serializers.IntegerField(help_text="The order of entry in the pairing.")
    points = serializers.IntegerField(allow_null=True, help_text="The sum over its matches.")
    place = serializers.IntegerField(allow_null=True)
    before = serializers.FloatField(source="change.before", default=None, allow_null=True, help_text="Its rating.")
    after = serializers.FloatField(source="change.after", default=None, allow_null=True)
    matches = PairedMatchSerializer(source="cells", many=True)


class PairingSerializer(serializers.Serializer[Any]):
    """What is rated: one match, or a duplicate set, whose matches are opened together when the last has ended."""

    id = serializers.IntegerField(source="pairing.pk")
    ladder = serializers.CharField(source="pairing.ladder.slug")
    round = serializers.IntegerField(source="pairing.round.number")
    number = serializers.IntegerField(source="pairing.number", allow_null=True, help_text="In the ladder's ledger.")
    state = serializers.CharField(source="pairing.state")
    why_unrated = serializers.CharField(source="pairing.why_unrated", help_text="Empty if it is rated, or will be.")
    commitment = serializers.CharField(source="pairing.commitment", help_text="SHA-256 of the seed of its deals.")
    rated_at = serializers.DateTimeField(source="pairing.rated_at", allow_null=True)
    is_set = serializers.BooleanField()
    played = serializers.IntegerField(help_text="How many of its matches are not to be played any more.")
    count = serializers.IntegerField(help_text="How many matches it has.")
    entries = PairedEntrySerializer(source="rows", many=True)

    def to_representation(self, pairing: Pairing) -> dict[str, Any]:
        return super().to_representation(crosstable(pairing))


class PairingFilter(django_filters.FilterSet):
    ladder = django_filters.CharFilter("ladder__slug", label="The ladder's slug.")
    round = django_filters.NumberFilter("round__number", min_value=0, max_value=10**9, label="The round's number.")
    state = django_filters.ChoiceFilter(choices=Pairing.State.choices)

    class Meta:
        model = Pairing
        fields = ["ladder", "round", "state"]


class EntryFilter(django_filters.FilterSet):
    ladder = django_filters.CharFilter("ladder__slug", label="The ladder's slug.")
    bot = django_filters.CharFilter("bot__slug", label="The bot's slug.")
    state = django_filters.ChoiceFilter(choices=Entry.State.choices)

    class Meta:
        model = Entry
        fields = ["ladder", "bot", "state"]


class MatchFilter(django_filters.FilterSet):
    ladder = django_filters.CharFilter("paired__ladder__slug", label="The ladder's slug.")
    bot = django_filters.CharFilter(method="with_bot", label="The slug of a bot that plays in it.")
    state = django_filters.ChoiceFilter(choices=Match.State.choices)
    kind = django_filters.ChoiceFilter(choices=Match.Kind.choices)

    class Meta:
        model = Match
        fields = ["ladder", "bot", "state", "kind"]

    def with_bot(self, matches: QuerySet[Match], name: str, slug: str) -> QuerySet[Match]:
        """Leave them as they are: `MatchPages` reads those of a bot off its seats."""
        return matches


# By this name, not as `match_id`, numbers that no key can be are compared like any others: a cursor may hold them.
MATCH_KEY = "match__id"


class MatchPages(Pages):
    """Pages of matches, newest first; of one bot's, however many it has played, no more is read than the page."""

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any] | None:
        """Return the page. Of a bot its keys are one range of an index, and the rest is fetched for them."""
        slug = request.query_params.get("bot", "").strip()
        if not slug:
            return super().paginate_queryset(queryset, request, view)
        # With its key at hand the database reads the seats in order; with its slug it sorts them all.
        bot = Bot.objects.filter(slug=slug).first()
        seats = Seat.objects.filter(bot=bot) if bot else Seat.objects.none()
        shown = queryset.select_related(None).prefetch_related(None).filter(pk=OuterRef("match"))
        # A bot may have several seats of a match.
        keys = seats.filter(Exists(shown)).values(MATCH_KEY).distinct()
        page = [row[MATCH_KEY] for row in super().paginate_queryset(keys, request, view) or ()]
        found = queryset.in_bulk(page)
        return [found[pk] for pk in page if pk in found]

    def get_ordering(self, request: Request, queryset: Any, view: Any) -> tuple[str, ...]:
        """Return by what is sorted: by the match, also where the rows are seats."""
        return (f"-{MATCH_KEY}",) if queryset.model is Seat else super().get_ordering(request, queryset, view)


class LadderPages(Pages):
    ordering = "id"


@extend_schema_view(
    list=extend_schema(summary="All ladders", tags=["ladders"]),
    retrieve=extend_schema(summary="One ladder", tags=["ladders"]),
)
class LadderViewSet(LadderStrengths, viewsets.ReadOnlyModelViewSet[Ladder]):
    queryset = Ladder.objects.select_related("previous", "following")
    serializer_class = LadderSerializer
    pagination_class = LadderPages
    lookup_field = "slug"
    lookup_value_regex = "[-a-zA-Z0-9_]+"

    @extend_schema(
        summary="Standings of a ladder, best first",
        tags=["ladders"],
        parameters=[OpenApiParameter("sort", enum=list(SORTS), description="Otherwise as the ladder ranks.")],
        responses=StandingSerializer(many=True),
    )
    @action(detail=True, pagination_class=ByPlace, filter_backends=[])
    def standings(self, request: Request, slug: str) -> Response:
        """Return the entries that stand in the ladder; those that have withdrawn do not."""
        # Of entries, at an address of ladders.
        sort = request.query_params.get("sort", "")
        if sort and sort not in SORTS:
            raise serializers.ValidationError({"sort": f"expected one of {', '.join(SORTS)}: {sort[:20]!r}"})
        stand: Any = Standings(self.get_object(), sort)
        page = self.paginate_queryset(stand)
        return self.get_paginated_response(StandingSerializer(page, many=True).data)

    @extend_schema(summary="When a ladder's rounds are", tags=["ladders"], responses=ScheduleSerializer)
    @action(detail=True, pagination_class=None, filter_backends=[])
    def schedule(self, request: Request, slug: str) -> Response:
        """Return the coming rounds, whether one can enter, and where the feed for calendars is."""
        ladder, now = self.get_object(), timezone.now()
        calendar = request.build_absolute_uri(reverse("ladder_calendar", args=[ladder.slug]))
        rounds = coming_rounds(ladder, COMING, now=now)
        told = {"rounds": rounds, "registration": registration.why_shut(ladder, now), "calendar": calendar}
        return Response(ScheduleSerializer(told).data)

    @extend_schema(summary="A ladder's rounds, newest first", tags=["ladders"], responses=RoundSerializer(many=True))
    @action(detail=True, pagination_class=ByPlace, filter_backends=[])
    def rounds(self, request: Request, slug: str) -> Response:
        """Return the rounds that were held."""
        held: Any = Round.objects.filter(ladder=self.get_object()).order_by("-number")
        return self.get_paginated_response(RoundSerializer(self.paginate_queryset(held), many=True).data)


class EntryPages(Pages):
    ordering = "id"


@extend_schema_view(
    list=extend_schema(summary="Entries of all ladders", tags=["entries"]),
    retrieve=extend_schema(summary="One entry", tags=["entries"]),
)
class EntryViewSet(EntryStrengths, viewsets.ReadOnlyModelViewSet[Entry]):
    queryset = Entry.objects.select_related("ladder", "bot", "user")
    serializer_class = EntrySerializer
    pagination_class = EntryPages
    filterset_class = EntryFilter
    lookup_value_regex = "[0-9]{1,18}"

    @extend_schema(
        summary="Enter one of your bots, or yourself, into a ladder",
        tags=["entries"],
        request=RegistrationSerializer,
        responses={201: EntrySerializer},
    )
    def create(self, request: Request) -> Response:
        """Enter a bot or yourself, or bring a withdrawn entry back with the rating that it had."""
        data = RegistrationSerializer(data=request.data)
        data.is_valid(raise_exception=True)
        bot = data.validated_data.get("bot")
        entrant: Any = request.user if bot is None else own_bot(request, bot)
        ladder = get_object_or_404(Ladder, slug=data.validated_data["ladder"])
        entry = _or_refuse(lambda: registration.register(request.user, entrant, ladder))
        note_where(request, entry)
        return Response(self.get_serializer(entry).data, status.HTTP_201_CREATED)

    @extend_schema(summary="Pause your entry", tags=["entries"], request=None, responses=EntrySerializer)
    @action(detail=True, methods=["post"], permission_classes=[permissions.IsAuthenticated])
    def pause(self, request: Request, pk: str) -> Response:
        """Leave the entry out of rounds until it is resumed."""
        return self._change(registration.pause)

    @extend_schema(summary="Resume your entry", tags=["entries"], request=None, responses=EntrySerializer)
    @action(detail=True, methods=["post"], permission_classes=[permissions.IsAuthenticated])
    def resume(self, request: Request, pk: str) -> Response:
        """Bring a paused entry back into the rounds."""
        return self._change(registration.resume)

    @extend_schema(summary="Withdraw your entry", tags=["entries"], request=None, responses=EntrySerializer)
    @action(detail=True, methods=["post"], permission_classes=[permissions.IsAuthenticated])
    def withdraw(self, request: Request, pk: str) -> Response:
        """Take the entry out of the standings; its history and rating stay."""
        return self._change(registration.withdraw)

    @extend_schema(summary="Say that you are ready to play", tags=["entries"], request=None, responses=EntrySerializer)
    @action(detail=True, methods=["post"], permission_classes=[permissions.IsAuthenticated])
    def ready(self, request: Request, pk: str) -> Response:
        """Have yourself paired, for ten minutes from now; of bots' entries this is not asked."""
        entry = self._changed(registration.get_ready)
        note_where(request, entry)
        return Response(self.get_serializer(entry).data)

    @extend_schema(summary="Say that you are not ready", tags=["entries"], request=None, responses=EntrySerializer)
    @action(detail=True, methods=["post"], permission_classes=[permissions.IsAuthenticated])
    def unready(self, request: Request, pk: str) -> Response:
        """Have yourself paired no more until you are ready again."""
        return self._change(registration.stand_down)

    @extend_schema(summary="Your entries", tags=["entries"], responses=OwnEntrySerializer(many=True), filters=False)
    @action(detail=False, pagination_class=None, filter_backends=[], permission_classes=[permissions.IsAuthenticated])
    def mine(self, request: Request) -> Response:
        """Return all that you have entered: what it waits for, what it plays, and what became of it."""
        return Response(OwnEntrySerializer(own_entries(request.user), many=True).data)

    def _change(self, change: Callable[[Any, Entry], None]) -> Response:
        return Response(self.get_serializer(self._changed(change)).data)

    def _changed(self, change: Callable[[Any, Entry], None]) -> Entry:
        entry = self.get_object()
        _or_refuse(lambda: change(self.request.user, entry))
        return entry


def _or_refuse(change: Callable[[], Any]) -> Any:
    """Return what `change` returns, and say in the API's words why if it is not made."""
    try:
        return change()
    except registration.NotRegistered as refusal:
        raise Refused(str(refusal), status_code=409, code="not_registered") from refusal


@extend_schema_view(
    list=extend_schema(summary="Pairings, newest first", tags=["pairings"]),
    retrieve=extend_schema(summary="One pairing", tags=["pairings"]),
)
class PairingViewSet(viewsets.ReadOnlyModelViewSet[Pairing]):
    """What is rated: who met whom, in which matches, and what that counted. Best first once it is known."""

    queryset = Pairing.objects.all()
    serializer_class = PairingSerializer
    pagination_class = Pages
    filterset_class = PairingFilter
    lookup_url_kwarg = "pairing"
    lookup_value_regex = "[0-9]{1,18}"

    def get_queryset(self) -> QuerySet[Pairing]:
        return with_matches(super().get_queryset())


@extend_schema_view(
    list=extend_schema(summary="Matches, newest first", tags=["matches"]),
    retrieve=extend_schema(summary="One match", tags=["matches"]),
)
class MatchViewSet(viewsets.ReadOnlyModelViewSet[Match]):
    """Matches. How one went is null until it has finished; trials are shown to their bot's owner only."""

    queryset = Match.objects.none()
    serializer_class = LadderMatchSerializer
    pagination_class = MatchPages
    filterset_class = MatchFilter
    lookup_field = "code"
    lookup_value_regex = "[0-9a-f]{16}"

    def get_queryset(self) -> QuerySet[Match]:
        matches = visible_matches(self.request.user)
        matches = matches.select_related("paired__pairing__ladder", "paired__pairing__round")
        return with_players(matches).prefetch_related("paired__pairing__changes", "paired__pairing__paired_entries")
