"""The deck's sprite: complete, well-formed, in step with the code that draws it, and harmless."""

from xml.etree import ElementTree

import pytest

from games import cards_svg

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def symbols():
    root = ElementTree.fromstring(cards_svg.SPRITE.read_bytes())
    return {symbol.get("id"): symbol for symbol in root.iter(f"{SVG}symbol")}


def pips(symbol):
    """Return the group that holds the drawing with pips."""
    return next(group for group in symbol.iter(f"{SVG}g") if group.get("display") == "var(--card-pips,none)")


def test_committed_sprite_is_what_the_code_draws():
    assert cards_svg.SPRITE.read_text(encoding="utf-8") == cards_svg.sprite()


def test_sprite_holds_every_card_once_and_the_back(symbols):
    assert set(symbols) == {rank + suit for rank in "A23456789T" for suit in "shdc"} | {"back"}
    assert all(symbol.get("viewBox") == "0 0 100 140" for symbol in symbols.values())


@pytest.mark.parametrize("rank", cards_svg.RANKS)
@pytest.mark.parametrize("suit", cards_svg.SUITS)
def test_face_shows_as_many_pips_as_its_rank(symbols, rank, suit):
    outlines = list(pips(symbols[rank + suit]).iter(f"{SVG}path"))
    count = {"A": 1, "T": 10}.get(rank) or int(rank)
    assert len(outlines) == count + 2  # and one beside each of the two indexes
    assert {path.get("d") for path in outlines} == {cards_svg.SUIT_PATHS[suit]}


@pytest.mark.parametrize("rank", cards_svg.RANKS)
def test_both_drawings_carry_the_index(symbols, rank):
    shown = [text.text for text in symbols[rank + "s"].iter(f"{SVG}text")]
    assert shown == ["10" if rank == "T" else rank] * 3


def test_suits_differ_in_outline():
    assert len(set(cards_svg.SUIT_PATHS.values())) == 4


def test_sprite_needs_nothing_from_elsewhere():
    text = cards_svg.SPRITE.read_text(encoding="utf-8")
    assert "<style" not in text and "style=" not in text and "<script" not in text and "href" not in text
    assert text.count("http") == 1  # the namespace
