"""Signing up, logging in, a forgotten password, a password that must be changed; each page with every refusal."""

import ast
import gettext
import re
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from allauth.account.models import EmailAddress
from django.conf import settings
from django.core import mail
from django.db import connection
from django.test import Client
from django.urls import reverse

from bots.models import Bot
from bots.names import name_key
from soureh_site.accounts.models import User
from soureh_site.first_start import create_first_administrator

PASSWORD = "correct-horse-battery"
pytestmark = pytest.mark.django_db


def sign_up(client, **changed):
    form = {"username": "Marlin", "email": "marlin@example.org", "password1": PASSWORD} | changed
    return client.post("/accounts/signup/", form)


@pytest.fixture
def marlin():
    user = User.objects.create_user("Marlin", "marlin@example.org", PASSWORD)
    EmailAddress.objects.create(user=user, email=user.email, primary=True, verified=True)
    return user


@pytest.mark.parametrize(
    "name",
    [
        *("account_login", "account_signup", "account_reset_password", "account_reset_password_done"),
        *("account_email_verification_sent", "account_reset_password_from_key_done"),
    ],
)
def test_account_pages_answer_without_inline_script_or_style(client, name):
    answer = client.get(reverse(name))
    html = answer.content.decode()
    assert answer.status_code == 200 and html.count("<h1>") == 1
    assert "style=" not in html and "<style" not in html and not re.search(r"<script(?![^>]*\ssrc=)", html)
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy


def test_signup_makes_an_account_and_logs_in(client):
    answer = sign_up(client)
    assert answer.status_code == 302 and answer.headers["Location"] == "/"
    user = User.objects.get()
    assert (user.username, user.email, user.name_key) == ("Marlin", "marlin@example.org", name_key("marlin"))
    assert client.session["_auth_user_id"] == str(user.pk)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"username": "rnarlin2"}, "looks too much like"),
        ({"username": "C0unter"}, "looks too much like"),
        ({"username": "\u0430dmin"}, "reserved"),
        ({"username": "a b"}, "letters, digits"),
        ({"username": "x"}, "characters"),
        ({"email": "nobody"}, "valid email"),
        ({"password1": "short"}, "too short"),
        ({"password1": "password1234"}, "too common"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_signup_refuses_with_a_sentence_and_keeps_what_was_typed(client, marlin, changed, sentence):
    User.objects.filter(pk=marlin.pk).update(username="Marlin2", name_key=name_key("Marlin2"))
    Bot.objects.create(name="counter", name_key=name_key("counter"), slug="counter")
    answer = sign_up(client, **({"username": "Berta", "email": "new@example.org"} | changed))
    html = answer.content.decode()
    assert answer.status_code == 200 and sentence in html
    assert changed.get("email", "new@example.org") in html
    assert User.objects.count() == 1


@pytest.mark.parametrize("login", ["Marlin", "marlin", "marlin@example.org"])
def test_login_by_public_name_or_address(client, marlin, login):
    assert client.post("/accounts/login/", {"login": login, "password": PASSWORD}).status_code == 302
    assert client.session["_auth_user_id"] == str(marlin.pk)


def test_login_with_a_wrong_password_is_refused_and_soon_limited(client, marlin):
    answers = [client.post("/accounts/login/", {"login": "Marlin", "password": f"wrong-{n}"}) for n in range(12)]
    assert "_auth_user_id" not in client.session
    assert "not correct" in answers[0].content.decode()
    late = client.post("/accounts/login/", {"login": "Marlin", "password": PASSWORD})
    assert "Too many failed login attempts" in late.content.decode() and "_auth_user_id" not in client.session


def test_forgotten_password_is_set_anew_by_a_link_that_works_once(client, marlin):
    client.post("/accounts/password/reset/", {"email": "marlin@example.org"})
    assert [message.to for message in mail.outbox] == [["marlin@example.org"]]
    link = re.search(r"http://testserver(/accounts/password/reset/key/\S+)", mail.outbox[0].body)[1]
    form = client.get(link, follow=True)
    new = {"password1": "another-horse-entirely", "password2": "another-horse-entirely"}
    assert client.post(form.redirect_chain[-1][0], new).status_code == 302
    marlin.refresh_from_db()
    assert marlin.check_password("another-horse-entirely")
    assert "This link does not work" in client.get(link, follow=True).content.decode()


def test_forgotten_password_does_not_tell_who_has_an_account(client, marlin):
    known = client.post("/accounts/password/reset/", {"email": "marlin@example.org"}, follow=True)
    unknown = client.post("/accounts/password/reset/", {"email": "nobody@example.org"}, follow=True)
    assert known.redirect_chain == unknown.redirect_chain


def test_first_administrator_must_change_the_password_first(client):
    password = create_first_administrator()
    assert create_first_administrator() is None
    client.post("/accounts/login/", {"login": "admin", "password": password})
    for path in ("/", "/admin/", "/accounts/email/"):
        assert client.get(path).headers.get("Location") == "/accounts/password/change/"
    assert client.get("/accounts/password/change/").status_code == 200
    new = {"oldpassword": password, "password1": PASSWORD, "password2": PASSWORD}
    assert client.post("/accounts/password/change/", new).headers["Location"] == "/"
    assert client.get("/admin/").status_code == 200
    assert not User.objects.get().check_password(password)


def test_admin_login_is_the_sites_own(client):
    assert client.get("/admin/login/").headers["Location"].startswith("/accounts/login/")


@pytest.mark.parametrize("path", ["", "accounts/user/", "accounts/user/add/", "bots/switch/", "games/match/"])
def test_admin_pages_answer(client, path):
    client.force_login(User.objects.create_superuser("Olga", "olga@example.org", PASSWORD))
    assert client.get(f"/admin/{path}").status_code == 200


@pytest.mark.parametrize("name", ["account_email", "account_change_password", "account_logout", "mfa_index"])
def test_pages_of_an_account_answer(client, marlin, name):
    client.force_login(marlin)
    answer = client.get(reverse(name))
    assert answer.status_code == 200 and "Marlin" in answer.content.decode()


WORDINGS = [
    *("account_login", "account_signup", "account_reset_password", "account_email", "account_change_password"),
    *("account_reauthenticate", "mfa_index", "mfa_activate_totp", "mfa_generate_recovery_codes", "account_logout"),
]


@pytest.mark.parametrize("name", WORDINGS)
def test_account_pages_speak_as_the_site_does(client, marlin, name):
    if name not in ("account_login", "account_signup"):
        client.post("/accounts/login/", {"login": "Marlin", "password": PASSWORD})
    answer = client.get(reverse(name), follow=True)
    assert answer.status_code == 200
    html = re.sub(r"<script.*?</script>", "", answer.content.decode(), flags=re.S)
    words = " ".join(re.sub(r"<[^>]*>", "\n", html).split(" "))
    assert not re.search(r"\b[Ee]mail\b|\b[Uu]sername\b|\b[Ss]ign(ed)?[ -](in|out)\b", words)
    titles = re.findall(r"<(?:h[1-6]|label|button)[^>]*>\s*([^<]+)", html)
    # Names apart, a capital stands at the start alone.
    assert not [title for title in titles if re.search(r" [A-Z][a-z]", title)]


def test_wording_that_is_loaded_is_the_one_that_can_be_read():
    folder = settings.LOCALE_PATHS[0] / "en" / "LC_MESSAGES"
    with (folder / "django.mo").open("rb") as file:
        loaded = gettext.GNUTranslations(file)
    written = re.findall(r'^msgid (".+")\nmsgstr (".+")$', (folder / "django.po").read_text(), re.M)
    assert len(written) > 90
    for message, wording in written:
        message, wording = ast.literal_eval(message), ast.literal_eval(wording)
        assert loaded.gettext(message) == wording or loaded.pgettext("field label", message) == wording


SIGN_UPS = {
    "names that look alike": [{"username": name, "email": f"{name}@example.org"} for name in ("Marlin", "rnarlin")],
    "one address": [{"username": name, "email": "same@example.org"} for name in ("Anna", "Berta")],
}


@pytest.mark.parametrize("asked", SIGN_UPS.values(), ids=SIGN_UPS)
@pytest.mark.django_db(transaction=True)
def test_of_two_who_sign_up_at_once_one_is_asked_again(monkeypatch, asked):
    from soureh_site.accounts.forms import SignupForm

    looked, save = Barrier(2), SignupForm.save
    # Both have looked before either stores.
    monkeypatch.setattr(SignupForm, "save", lambda form, request: (looked.wait(30), save(form, request))[1])

    def ask(changed):
        try:
            return sign_up(Client(), **changed)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        answers = sorted(pool.map(ask, asked), key=lambda answer: answer.status_code)
    assert [answer.status_code for answer in answers] == [200, 302]
    assert re.search("taken|already registered", answers[0].content.decode())
    assert User.objects.count() == 1


def test_address_taken_at_the_same_moment_is_not_told_where_addresses_are_confirmed(monkeypatch, settings, client):
    from soureh_site.accounts.forms import SignupForm

    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    late, save = {"username": "Slower", "email": "same@example.org"}, SignupForm.save

    def be_late(form, request):
        if form.cleaned_data["username"] == late["username"] and not User.objects.exists():
            sign_up(Client(), username="Faster", email=late["email"])
        return save(form, request)

    monkeypatch.setattr(SignupForm, "save", be_late)
    assert sign_up(client, **late).headers["Location"] == "/accounts/confirm-email/"
    assert [user.username for user in User.objects.all()] == ["Faster"]


@pytest.mark.parametrize("name", ["rnarlin", "C0unter"])
def test_operator_cannot_give_a_name_that_looks_like_anothers(client, marlin, name):
    Bot.objects.create(name="counter", slug="counter")
    client.force_login(User.objects.create_superuser("Olga", "olga@example.org", PASSWORD))
    form = {"username": name, "email": "new@example.org", "usable_password": "true"}
    answer = client.post("/admin/accounts/user/add/", form | {"password1": PASSWORD, "password2": PASSWORD})
    assert answer.status_code == 200 and "looks too much like" in answer.content.decode()
    assert User.objects.count() == 2
    marlin.full_clean()


def test_an_address_too_long_to_keep_is_refused(client):
    answer = sign_up(client, email="a" * 243 + "@example.org")
    assert answer.status_code == 200 and not User.objects.exists()
    assert "at most 254 characters" in answer.content.decode()
