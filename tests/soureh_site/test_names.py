"""Public names: which look alike, which do not, and which may be taken."""

import pytest
from django.core.exceptions import ValidationError

from bots.models import Bot
from bots.names import name_key
from soureh_site.accounts.models import User
from soureh_site.accounts.names import RESERVED, check_free, check_public_name

ALIKE = [
    pytest.param("Ada", "\u0430da", id="cyrillic-a"),
    pytest.param("Ada", "ada", id="case"),
    pytest.param("peter", "\u0440\u0435t\u0435r", id="cyrillic-er-ie"),
    pytest.param("tom", "\u0442\u043e\u043c", id="wholly-cyrillic-lower"),
    pytest.param("TOM", "\u0422\u041e\u041c", id="wholly-cyrillic-upper"),
    pytest.param("vick", "\u03bdick", id="greek-nu"),
    pytest.param("Nick", "\u039dick", id="greek-capital-nu"),
    pytest.param("oscar", "\u03bfscar", id="greek-omicron"),
    pytest.param("Ian", "lan", id="capital-i-small-l"),
    pytest.param("lily", "1i1y", id="one-small-l"),
    pytest.param("modern", "modem", id="rn-m"),
    pytest.param("wim", "vvim", id="vv-w"),
    pytest.param("bob", "b0b", id="zero-o"),
    pytest.param("BOB", "B0B", id="zero-capital-o"),
    pytest.param("Zoë", "zoe", id="accent"),
    pytest.param("Zoe\u0308", "Zoë", id="decomposed"),
    pytest.param("łukasz", "lukasz", id="stroke"),
    pytest.param("Øre", "ore", id="slashed-o"),
    pytest.param("max", "\U0001d426ax", id="mathematical-bold"),
    pytest.param("max", "\uff4dax", id="full-width"),
    pytest.param("hal", "\u029cal", id="small-capital"),
    pytest.param("fina", "\ufb01na", id="ligature"),
    pytest.param("abc", "a_b-c", id="underscore-hyphen"),
    pytest.param("abc", "a.b c", id="dot-space"),
    pytest.param("abc", "a\u200bbc", id="zero-width-space"),
    pytest.param("strasse", "straße", id="sharp-s"),
    pytest.param("idil", "\u0130dil", id="dotted-capital-i"),
    pytest.param("idil", "\u0131dil", id="dotless-i"),
    pytest.param("careful", "\u03f2areful", id="lunate-sigma"),
    pytest.param("careful", "careful\u3164", id="hangul-filler"),
    pytest.param("careful", "\uffa0careful\u115f", id="other-fillers"),
]
APART = [
    pytest.param("ned", "ved", id="n-v"),
    pytest.param("tim", "rim", id="t-r"),
    pytest.param("sam", "fam", id="s-f"),
    pytest.param("yuri", "zuri", id="y-z"),
    pytest.param("ada", "adam", id="longer"),
    pytest.param("\u0438\u0432\u0430\u043d", "\u043e\u043b\u0435\u0433", id="two-cyrillic-names"),
    pytest.param("bot2", "bot3", id="digits"),
]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_name_key_is_shared_by_names_that_look_alike(one, other):
    assert name_key(one) == name_key(other) != ""


@pytest.mark.parametrize(("one", "other"), APART)
def test_name_key_tells_other_names_apart(one, other):
    assert name_key(one) != name_key(other)


@pytest.mark.parametrize("name", ["Ada", "ada.b", "a-1", "Zoë", "Иван", "小明", "नमन", "x_y_z"])
def test_check_public_name_accepts(name):
    check_public_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("a", "x" * 25, "ada@home", "a b", "_ada", "ada-", "a..b", "a\u200bb", "<b>", "a/b", "Zoe\u0308"),
        *("\u202eada", "a\u3164b", ""),
    ],
)
def test_check_public_name_refuses_with_a_sentence(name):
    with pytest.raises(ValidationError) as refused:
        check_public_name(name)
    assert refused.value.messages[0].endswith(".")


def test_check_free_refuses_reserved_names_and_their_twins():
    assert name_key("admin") in RESERVED
    for name in ("admin", "\u0430dmin", "Adm1n", "Soureh", "mod"):
        with pytest.raises(ValidationError):
            check_free(name)


@pytest.mark.django_db
def test_check_free_refuses_what_looks_like_a_person_or_a_bot():
    User.objects.create_user("Marlin", "m@example.org", "a-password-for-tests")
    Bot.objects.create(name="counter", name_key=name_key("counter"), slug="counter")
    for name in ("marlin", "Mar1in", "rnarlin", "c0unter", "\u0441ounter"):
        with pytest.raises(ValidationError):
            check_free(name)
    check_free("marla")


@pytest.mark.django_db
def test_user_save_keeps_the_key_in_step_with_the_name():
    user = User.objects.create_user("Marlin", "m@example.org", "a-password-for-tests")
    user.username = "Berta"
    user.save(update_fields=["username"])
    assert User.objects.get().name_key == name_key("berta")
