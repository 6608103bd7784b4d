"""What looks odd in a ladder, written down for a person to decide. It punishes nobody, and rates nothing.

`review` reads the last pairings of the ledger and the digests of addresses, and keeps a flag for each pair of entries
that looks odd. A flag that is found again is brought up to date; one that was decided stays decided until there is
twice the evidence. Addresses are never stored: only a digest under a key of this site, and that for 90 days.
"""

import ipaddress
import logging
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import combinations, groupby
from typing import Any, NamedTuple

from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from ladder import oddities
from ladder.models import Entry, EntryAddress, Flag, Ladder, Meeting, RatingChange

logger = logging.getLogger(__name__)

LOG_PAIRINGS = 50_000  # so many of the last ones are read
NEW_FOR = 20  # pairings in which an entry's rating says too little to expect anything by
ADDRESS_DAYS = 90
MANY = 5000


class Found(NamedTuple):
    """Something odd about two entries; the evidence is what the flag keeps, `weight` how much of it there is."""

    kind: str
    entry_id: int
    other_id: int
    weight: float
    evidence: dict[str, Any]


# Addresses


def note_address(entry: Entry, request_ip: str) -> None:
    """Remember from where an entry was registered or played, as a digest; what is no address tells nothing.

    Of an IPv6 address only the network's half counts: the rest changes by the hour.
    """
    try:
        address = ipaddress.ip_address(request_ip)
    except ValueError:
        # Behind no proxy of ours anybody may send any text for it.
        logger.warning("no address entry=%d", entry.pk)
        return
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address
    if address.version == 6:
        address = ipaddress.ip_network((address, 64), strict=False).network_address
    digest = salted_hmac("ladder.fairplay.address", address.packed, algorithm="sha256").hexdigest()
    EntryAddress.objects.update_or_create(entry=entry, digest=digest, defaults={"seen_at": timezone.now()})


def forget_addresses() -> int:
    """Delete digests of addresses from which nothing came for 90 days; return how many."""
    count, _by_model = EntryAddress.objects.filter(seen_at__lt=_address_horizon()).delete()
    return count


def _address_horizon() -> datetime:
    return timezone.now() - timedelta(days=ADDRESS_DAYS)


# Found


def report(ladder: Ladder) -> list[Found]:
    """Return what looks odd in a ladder now; writes nothing."""
    entries = {entry.pk: entry for entry in ladder.entries.select_related("bot", "user")}
    owners = {pk: entry.owner_id for pk, entry in entries.items()}
    names = {pk: entry.name for pk, entry in entries.items()}
    odd = oddities.oddities(oddities.tally(_tables(ladder), owners))
    return [*(_statistical(one, names) for one in odd), *_addresses(ladder, owners)]


def _tables(ladder: Ladder) -> Iterator[list[oddities.Row]]:
    """Yield the rows of each of the last pairings, without those of entries that were new then."""
    rows = RatingChange.objects.filter(
        ladder=ladder, number__gt=ladder.rated - LOG_PAIRINGS, number__lte=ladder.rated, nth__gt=NEW_FOR
    ).order_by("number", "entry")
    values = rows.values_list("number", "entry_id", "before", "place").iterator(MANY)
    for _number, table in groupby(values, key=lambda row: row[0]):
        found = [oddities.Row(*row[1:]) for row in table]
        if len(found) > 1:
            yield found


def _statistical(one: oddities.Oddity, names: dict[int, str]) -> Found:
    evidence = {
        "meetings": one.meetings,
        "gap": round(one.gap, 4),
        "z": round(one.z, 2),
        "limit": round(one.limit, 2),
        "third": names.get(one.third, "") if one.third else "",
    }
    # The square of z grows as meetings do: twice as many of the same kind are twice the evidence.
    return Found(one.kind, one.entry, one.other, one.z**2, evidence)


def _addresses(ladder: Ladder, owners: dict[int, int | None]) -> Iterator[Found]:
    """Yield the pairs of different owners that came from one address and have met at a table."""
    rows = EntryAddress.objects.filter(entry__ladder=ladder, seen_at__gte=_address_horizon())
    at: dict[str, list[int]] = defaultdict(list)
    for digest, entry_id in rows.order_by("entry").values_list("digest", "entry_id"):
        at[digest].append(entry_id)
    shared: dict[tuple[int, int], int] = defaultdict(int)
    for ids in at.values():
        for one, other in combinations(ids, 2):
            if owners[one] != owners[other]:
                shared[one, other] += 1
    met = Meeting.objects.filter(ladder=ladder, entry__in=[one for one, _ in shared])
    tables = {(one, other): count for one, other, count in met.values_list("entry_id", "other_id", "pairings")}
    for (one, other), count in sorted(shared.items()):
        if tables.get((one, other)):
            evidence = {"meetings": tables[one, other], "addresses": count}
            yield Found(Flag.Kind.ADDRESS, one, other, float(tables[one, other]), evidence)


# Flagged


def review(ladder: Ladder) -> list[Flag]:
    """Write down what looks odd now and return the flags that are open because of it."""
    found = report(ladder)
    flags = []
    with transaction.atomic():
        # Two reviews at once would both create a flag, or undo a decision that came between.
        Ladder.objects.select_for_update(no_key=True).get(pk=ladder.pk)
        kept = {(flag.kind, flag.entry_id, flag.other_id): flag for flag in ladder.flags.select_for_update()}
        for one in found:
            flag = kept.get((one.kind, one.entry_id, one.other_id))
            flags.append(_flag(ladder, one) if flag is None else _again(flag, one))
    still_open = [flag for flag in flags if flag.is_open]
    logger.info("reviewed ladder=%s found=%d open=%d", ladder.slug, len(flags), len(still_open))
    return still_open


def _flag(ladder: Ladder, one: Found) -> Flag:
    return Flag.objects.create(
        ladder=ladder,
        kind=one.kind,
        entry_id=one.entry_id,
        other_id=one.other_id,
        evidence=one.evidence | {"weight": one.weight},
        seen_at=timezone.now(),
    )


def _again(flag: Flag, one: Found) -> Flag:
    """Bring a flag up to date; a decided one keeps the evidence on which it was, until there is twice as much."""
    flag.seen_at = timezone.now()
    if not flag.is_open and one.weight < 2 * flag.evidence.get("weight", 0.0):
        flag.save(update_fields=["seen_at"])
        return flag
    before = {"decided": flag.decision} if flag.decision else {}
    flag.evidence = one.evidence | {"weight": one.weight} | before
    # The ladder's events tell who decided it before.
    flag.is_open, flag.decided_by, flag.decision = True, None, ""
    flag.save(update_fields=["seen_at", "evidence", "is_open", "decided_by", "decision"])
    return flag


def sentence(flag: Flag) -> str:
    """Say what looks odd, for those who decide it. The flag was loaded with its entries."""
    told = {"entry": flag.entry, "other": flag.other, **flag.evidence}
    told["points"] = f"{100 * abs(flag.evidence.get('gap', 0.0)):.0f}"
    if flag.kind == Flag.Kind.MARGIN:
        if flag.evidence["gap"] < 0:
            told |= {"entry": flag.other, "other": flag.entry}
        text = _(
            "At %(meetings)s tables with %(third)s, %(entry)s took %(points)s points in a hundred more from %(other)s "
            "than without. Chance: z = %(z)s, odd from %(limit)s."
        )
    elif flag.kind == Flag.Kind.LOSSES:
        text = _(
            "In %(meetings)s meetings %(entry)s lost %(points)s points in a hundred more to the account of %(other)s "
            "than both are worth elsewhere. Chance: z = %(z)s, odd from %(limit)s."
        )
    elif flag.kind == Flag.Kind.COMPANY:
        text = _(
            "At %(meetings)s tables with both, %(entry)s and %(other)s took %(points)s points in a hundred more from "
            "the others than apart. Chance: z = %(z)s, odd from %(limit)s."
        )
    else:
        text = _("%(entry)s and %(other)s came from one address, and met at %(meetings)s tables.")
    return text % told
