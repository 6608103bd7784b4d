"""The pages of those who run a ladder: create it, set it, move it on, judge it, and decide what looked odd.

Operators run every ladder, owners their own; who has the right may create one. What was done stands on a page that
everybody can read.
"""

import secrets
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from django import forms
from django.contrib import messages
from django.contrib.auth import get_user_model
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import IntegrityError, transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from kombu.exceptions import OperationalError

from bots.rates import MINUTE_S, may, too_often
from bots.switches import pause_note
from ladder import fairplay, fits, judgement_views, judgements, judging, ratings, registration, seasons, tasks
from ladder.forms import (
    CapForm,
    DecisionForm,
    KForm,
    LadderForm,
    ReasonForm,
    SettingsForm,
    change_in_words,
    change_kept,
    columns_to_write,
    last_change,
)
from ladder.history import read_key
from ladder.judging import ChangeCap, ChangeK, Deed, Disqualify, NotJudged, Reinstate, VoidMatch, may_run
from ladder.models import Entry, Flag, Ladder, LadderEvent
from ladder.scheduling import NotHeld, try_round
from ladder.seasons import NotMoved

EVENTS = 50
ENTRIES = 100
FLAGS = 50
ROUNDS_PER_MINUTE = 30  # by hand; every one looks at all entries

MOVES: dict[str, Callable[..., None]] = {
    "open": seasons.open_registration,
    "start": seasons.start,
    "freeze": seasons.freeze,
}


def _own_ladder(request: HttpRequest, slug: str) -> Ladder:
    """Return the ladder if the reader runs it. Http404 if there is none, PermissionDenied if it is another's."""
    ladder = get_object_or_404(Ladder.objects.select_related("owner"), slug=slug)
    if not may_run(request.user, ladder):
        raise PermissionDenied("expected an operator, or the ladder's owner")
    return ladder


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def create(request: HttpRequest) -> HttpResponse:
    """Create a ladder of the reader's own; it is announced, and runs once its owner has it started."""
    if not request.user.has_perm("ladder.add_ladder"):
        raise PermissionDenied("expected somebody who may create ladders")
    owner: Any = request.user
    form = LadderForm(request.POST or None, instance=Ladder(owner=owner, state=Ladder.State.ANNOUNCED))
    if request.method == "POST" and (ladder := _create(form, owner)):
        messages.success(request, _("%(ladder)s is announced. Open it or start it below.") % {"ladder": ladder})
        return redirect("ladder_manage", ladder.slug)
    return render(request, "ladder/ladder_new.html", {"form": form})


def _create(form: LadderForm, owner: Any) -> Ladder | None:
    """Store a new ladder if its form is valid, else return None with errors in the form."""
    with transaction.atomic():
        # One after the other: two that are sent at once must not both be the last that he may have.
        get_user_model().objects.select_for_update(no_key=True).get(pk=owner.pk)
        return _store_new(form) if form.is_valid() else None


def _store_new(form: LadderForm) -> Ladder | None:
    """Store a new ladder under a slug that is free; None, and an error in the form, if its name was taken meanwhile."""
    ladder: Ladder = form.save(commit=False)
    wanted = slugify(ladder.name)[:50] or "ladder"
    is_taken = Ladder.objects.filter(slug=wanted).exists()
    ladder.slug = f"{wanted}-{secrets.token_hex(3)}" if is_taken or wanted == "ladder" else wanted
    try:
        with transaction.atomic():
            ladder.save()
            LadderEvent.objects.create(ladder=ladder, by=ladder.owner, what="created")
    except IntegrityError:
        form.add_error("name", _("A ladder of this name was created just now. Please choose another name."))
        return None
    return ladder


@login_required
@never_cache
@require_safe
def manage(request: HttpRequest, slug: str) -> HttpResponse:
    """What its organiser can do with a ladder: its state, its entries, what looks odd."""
    ladder = _own_ladder(request, slug)
    entries = ladder.entries.select_related("bot__owner", "user").order_by("state", "-rating", "pk")
    last = ladder.judgements.first()
    context = {
        "ladder": ladder,
        "moves": _possible_moves(ladder),
        "house_bots": _house_bots(ladder),
        "reason_form": ReasonForm(),
        "page": Paginator(entries, ENTRIES).get_page(request.GET.get("page")),
        "flags": [(flag, fairplay.sentence(flag)) for flag in _flags(ladder).filter(is_open=True)[:FLAGS]],
        "can_judge": judging.may_judge(request.user, ladder),
        "judgement": last,
        "judgement_title": judgements.heading(last.deed.get("deed", ""), last.subject) if last else "",
        "is_disqualified": Entry.State.DISQUALIFIED,
    }
    return render(request, "ladder/manage.html", context)


def _flags(ladder: Ladder) -> Any:
    return ladder.flags.select_related("entry__bot", "entry__user", "other__bot", "other__user").order_by("-seen_at")


def _possible_moves(ladder: Ladder) -> list[tuple[str, str, str]]:
    """Return the moves that the ladder can make now: name, button, and what it means."""
    state = Ladder.State
    moves = {"open": state.OPEN, "start": state.RUNNING, "freeze": state.FROZEN}
    words = {
        "open": (_("Open registration"), _("Entries can be made; no rounds are held yet.")),
        "start": (_("Start it"), _("Rounds are held from now on.")),
        "freeze": (_("Freeze it"), _what_freezing_does(ladder)),
    }
    return [(name, *words[name]) for name, to in moves.items() if ladder.state in seasons.MOVES[to][0]]


def _what_freezing_does(ladder: Ladder) -> str:
    ends = _("No more rounds. What is being played ends, and then the standings are final.")
    if not ladder.renews_days:
        return ends
    follows = _(
        "The next season then starts at once, whenever this one was to end. If none should follow, first empty "
        "“Days of the next season” in the settings."
    )
    return f"{ends} {follows}"


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: HttpRequest, slug: str) -> HttpResponse:
    """Change a ladder's settings; those under which its history was played stay."""
    as_of = last_change(slug)
    ladder = _own_ladder(request, slug)
    if request.method != "POST":
        return _settings(request, ladder, as_of)
    with transaction.atomic():
        # From now on no round is held, and nothing ends, before it is stored: some settings can be changed only before.
        held = Ladder.objects.select_for_update(no_key=True).get(pk=ladder.pk)
        return _settings(request, held, last_change(slug))


def _settings(request: HttpRequest, ladder: Ladder, as_of: int) -> HttpResponse:
    if ladder.state in (Ladder.State.FROZEN, Ladder.State.CLOSED):
        messages.error(request, _("%(ladder)s has ended; its settings stay.") % {"ladder": ladder})
        return redirect("ladder_manage", ladder.slug)
    form = SettingsForm(request.POST or None, instance=ladder, as_of=as_of)
    if request.method == "POST" and form.is_valid():
        _store(form, request.user)
        messages.success(request, _("The settings are stored."))
        return redirect("ladder_manage", ladder.slug)
    return render(request, "ladder/ladder_settings.html", {"ladder": ladder, "form": form})


def _store(form: LadderForm, by: Any) -> None:
    """Store changed settings, and which they are in the ladder's history. The ladder's row is locked."""
    changed = [name for name in form.changed_data if name in form.fields]
    if not changed:
        return
    ladder = form.save(commit=False)
    ladder.save(update_fields=columns_to_write(ladder, changed))
    if "initial_rating" in changed:
        ratings.move_beginners(ladder, was=form.initial["initial_rating"])
    subject = ", ".join(str(form.fields[name].label) for name in changed)
    LadderEvent.objects.create(
        ladder=ladder, by=by, what="changed", subject=subject[:120], effect=change_kept(form, changed)
    )


@login_required
@require_POST
def move(request: HttpRequest, slug: str, to: str) -> HttpResponse:
    """Open, start or freeze a ladder."""
    ladder = _own_ladder(request, slug)
    form = ReasonForm(request.POST)
    form.fields["reason"].required = False
    if not form.is_valid():
        messages.error(request, " ".join(map(str, form.errors["reason"])))
        return redirect("ladder_manage", ladder.slug)
    try:
        MOVES[to](ladder, by=request.user, reason=form.cleaned_data["reason"])
    except NotMoved as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(
            request, _("%(ladder)s is %(state)s now.") % {"ladder": ladder, "state": ladder.get_state_display()}
        )
    return redirect("ladder_manage", ladder.slug)


@login_required
@require_POST
def hold(request: HttpRequest, slug: str) -> HttpResponse:
    """Hold a round now, due or not, unless the operators have paused the rounds of all ladders."""
    ladder = _own_ladder(request, slug)
    if not may("rounds", request.user.pk, most=ROUNDS_PER_MINUTE, within_s=MINUTE_S):
        return too_often(request, within_s=MINUTE_S)
    if (note := pause_note("rounds")) is not None:
        messages.error(request, note)
        return redirect("ladder_manage", ladder.slug)
    try:
        held = try_round(ladder.pk)
    except NotHeld as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, _("Round %(number)d is held.") % {"number": held.number})
    return redirect("ladder_manage", ladder.slug)


@login_required
@require_POST
def fit_now(request: HttpRequest, slug: str) -> HttpResponse:
    """Have the ladder fitted now, by the worker that does so."""
    ladder = _own_ladder(request, slug)
    if not fits.is_rested(ladder.pk):
        messages.error(request, _("The strengths have just been fitted. Ask again in a minute."))
        return redirect("ladder_manage", ladder.slug)
    try:
        tasks.fit.apply_async((ladder.pk,), expires=fits.EVERY_S)
    except OperationalError:
        messages.error(request, _("The workers cannot be reached now; the ladder is fitted once they can."))
    else:
        messages.success(request, _("The strengths are being fitted; the standings follow in a moment."))
    return redirect("ladder_manage", ladder.slug)


@login_required
@require_POST
def house_bots(request: HttpRequest, slug: str) -> HttpResponse:
    """Enter the house bots that are missing; one of them holds the scale where it is."""
    ladder = _own_ladder(request, slug)
    try:
        entered = registration.enter_house_bots(ladder, by=request.user)
    except registration.NotRegistered as refusal:
        messages.error(request, str(refusal))
    else:
        names = {"ladder": ladder, "names": ", ".join(entry.name for entry in entered)}
        messages.success(request, _("Entered into %(ladder)s: %(names)s.") % names)
    return redirect("ladder_manage", ladder.slug)


def _house_bots(ladder: Ladder) -> dict[str, Any] | None:
    """Return which house bots can be entered, and which is held where; None where none can be. Two queries at most."""
    if registration.why_no_house_bots(ladder):
        return None
    missing = [bot.name for bot in registration.missing_house_bots(ladder)]
    anchor = ladder.entries.filter(bot__owner=None, bot__name=registration.ANCHOR).exclude(bot=None).first()
    return {
        "missing": missing,
        "name": registration.ANCHOR,
        "held_at": ladder.initial_rating if registration.ANCHOR in missing else anchor and anchor.anchor,
    }


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def judge(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what a deed would change, and do it once its reason is given."""
    ladder = _own_ladder(request, slug)
    asked = request.POST if request.method == "POST" else request.GET
    form = ReasonForm(request.POST or None)
    context: dict[str, Any] = {
        "ladder": ladder,
        "form": form,
        "asked": _kept(asked),
        "title": judgements.title(asked.get("deed", "")),
    }
    try:
        deed = _deed(ladder, asked)
        if deed is None:
            return render(request, "ladder/judge_terms.html", context | {"terms_form": _terms_form(ladder, asked)})
        context["title"] = judgements.heading(asked["deed"], deed.subject)
        if judgements.is_long(ladder):
            return _judge_long(request, ladder, deed, context)
        if request.method == "POST" and form.is_valid():
            done = judging.apply(ladder, deed, request.user, form.cleaned_data["reason"])
            text = _("Done: %(count)d ratings changed, by %(most).0f points at most.")
            messages.success(request, text % {"count": done.changed, "most": done.largest})
            return redirect("ladder_manage", ladder.slug)
        verdict = judgements.as_json(judging.preview(ladder, deed))
    except NotJudged as refusal:
        messages.error(request, str(refusal))
        return redirect("ladder_manage", ladder.slug)
    return render(request, "ladder/judge.html", context | {"verdict": verdict})


def _judge_long(request: HttpRequest, ladder: Ladder, deed: Deed, context: dict[str, Any]) -> HttpResponse:
    """Have it replayed in the background, as soon as that is asked for by more than a link."""
    if request.method != "POST":
        return render(request, "ladder/judge_long.html", context)
    form = context["form"]
    return judgement_views.ask(request, ladder, deed, form.cleaned_data["reason"] if form.is_valid() else None)


def _kept(asked: Mapping[str, Any]) -> dict[str, str]:
    """Return of what was asked what the form must send again."""
    names = ["deed", "entry", "match", *(name for terms in TERMS.values() for name in terms.names)]
    return {name: asked[name] for name in names if name in asked}


def _deed(ladder: Ladder, asked: Mapping[str, Any]) -> Deed | None:
    """Return what is asked for; None for a change of terms that are still to be given. Http404 for nothing."""
    kind = asked.get("deed", "")
    if kind == "disqualify":
        return Disqualify(_entry(ladder, asked.get("entry", "")))
    if kind == "reinstate":
        return Reinstate(_entry(ladder, asked.get("entry", "")))
    if kind == "void":
        return VoidMatch(judging.find_match(ladder, asked.get("match", "").strip()))
    if kind in TERMS:
        form = _terms_form(ladder, asked)
        return TERMS[kind].deed(**form.cleaned_data) if form.is_bound and form.is_valid() else None
    raise Http404("expected a deed: disqualify, reinstate, void, k or cap")


def _entry(ladder: Ladder, pk: str) -> Entry:
    entries, key = ladder.entries.select_related("bot", "user", "ladder"), read_key(pk)
    entry = None if key is None else entries.filter(pk=key).first()
    if entry is None:
        raise Http404("expected an entry of the ladder")
    return entry


class Terms(NamedTuple):
    """What of a ladder's terms a deed changes, and the form that asks for it."""

    form: type[forms.Form]
    deed: Callable[..., Deed]
    names: tuple[str, ...]


TERMS = {
    "k": Terms(KForm, ChangeK, ("k_new", "k_settled", "settled_after")),
    "cap": Terms(CapForm, ChangeCap, ("daily_cap",)),
}


def _terms_form(ladder: Ladder, asked: Mapping[str, Any]) -> forms.Form:
    terms = TERMS[asked["deed"]]
    if any(name in asked for name in terms.names):
        return terms.form(asked)
    return terms.form(initial={name: getattr(ladder, name) for name in terms.names})


@require_safe
def events(request: HttpRequest, slug: str) -> HttpResponse:
    """What was done to the ladder, by whom and why. Everybody may read it."""
    ladder = get_object_or_404(Ladder, slug=slug)
    found = ladder.events.select_related("by")
    page = Paginator(found, EVENTS).get_page(request.GET.get("page"))
    rows = [(event, change_in_words(event.effect)) for event in page]
    return render(request, "ladder/events.html", {"ladder": ladder, "page": page, "rows": rows})


@login_required
@require_POST
def decide(request: HttpRequest, slug: str, flag: int) -> HttpResponse:
    """Write down what a person decided of something that looked odd, and list it no more."""
    ladder = _own_ladder(request, slug)
    found = get_object_or_404(_flags(ladder), pk=flag)
    form = DecisionForm(request.POST, instance=found)
    if not form.is_valid():
        messages.error(request, " ".join(map(str, form.errors["decision"])))
        return redirect("ladder_manage", ladder.slug)
    by: Any = request.user
    with transaction.atomic():
        open_one = Flag.objects.filter(pk=found.pk, is_open=True)
        if not open_one.update(is_open=False, decided_by=by, decision=form.cleaned_data["decision"]):
            messages.error(request, _("Somebody decided that already."))
            return redirect("ladder_manage", ladder.slug)
        # Everybody reads the history, and nobody is to be named for what only looked odd.
        subject = str(found.get_kind_display())[:120]
        LadderEvent.objects.create(ladder=ladder, by=by, what="decided", subject=subject)
    messages.success(request, _("Your decision is kept. The two are listed again only on twice as much evidence."))
    return redirect("ladder_manage", ladder.slug)
