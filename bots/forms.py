"""The forms of the bots' pages: uploading a version, and what a bot says about itself."""

import io
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from bots.models import NOTE_MAX, Bot, BotVersion
from bots.rates import may_try_upload
from bots.upload_rules import ENTRY
from bots.uploads import UploadError, is_archive
from bots.versions import NAME_MAX, NameRefused, NoteRefused, Refusal, Unchanged, add_version, error_text, read_file

CONTEXT_LINES = 2
SHOWN_COLUMNS = 160


@dataclass(frozen=True)
class SourceLine:
    """One line of a source as it is shown beside an error; `mark` is the blank run before the wrong column."""

    number: int
    text: str
    is_wrong: bool
    mark: str | None = None


class UploadForm(forms.Form):
    """A file or pasted text, for a new bot or for one of the owner's.

    After a refusal `excerpt` has the lines around a mistake and `excerpt_of` the file in an archive that they are
    from; `is_archive_lost` says that a browser will have to be shown the archive once more.
    """

    bot = forms.ModelChoiceField(
        label=gettext_lazy("Bot"),
        queryset=Bot.objects.none(),
        required=False,
        to_field_name="slug",
        empty_label=gettext_lazy("A new bot"),
    )
    name = forms.CharField(
        label=gettext_lazy("Name of the new bot"),
        required=False,
        strip=True,
        widget=forms.TextInput(attrs={"maxlength": NAME_MAX, "autocomplete": "off", "spellcheck": "false"}),
        help_text=gettext_lazy("2 to 32 characters. Everybody sees it; it cannot be changed later."),
    )
    file = forms.FileField(
        label=gettext_lazy("Python file or zip"),
        required=False,
        allow_empty_file=True,
        widget=forms.FileInput(attrs={"accept": ".py,.zip,text/x-python,application/zip"}),
    )
    source = forms.CharField(
        label=gettext_lazy("Or paste the source"),
        required=False,
        strip=False,
        widget=forms.Textarea(
            attrs={"rows": 14, "spellcheck": "false", "autocapitalize": "off", "autocomplete": "off", "wrap": "off"}
        ),
        help_text=gettext_lazy("If you choose a file as well, the file counts."),
    )
    note = forms.CharField(
        label=gettext_lazy("What is new"),
        required=False,
        widget=forms.TextInput(attrs={"maxlength": NOTE_MAX, "autocomplete": "off"}),
        help_text=gettext_lazy(
            "A line for the list of versions, up to 200 characters. Everybody can read it once the version has passed "
            "its trial; like the version itself it cannot be changed later."
        ),
    )

    def __init__(self, *args: Any, owner: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.owner = owner
        self.excerpt: list[SourceLine] = []
        self.excerpt_of = ""
        self.is_archive_lost = False
        self.unchanged: BotVersion | None = None
        self.is_too_often = False
        bots = self.fields["bot"]
        assert isinstance(bots, forms.ModelChoiceField)
        bots.queryset = Bot.objects.filter(owner=owner)
        # NUL is for `uploads` to refuse, which says where it stands, and in a note for `versions` to drop.
        self.fields["source"].validators = self.fields["note"].validators = []

    def clean(self) -> dict[str, Any]:
        """Ask for what is missing before anything is stored."""
        super().clean()
        data = self.cleaned_data
        if not data.get("bot") and "bot" not in self.errors and not data.get("name"):
            self.add_error("name", _("A new bot needs a name."))
        if not data.get("file") and not data.get("source"):
            self.add_error("file", _("Choose a file, or paste the source below."))
        return data

    def store(self) -> BotVersion | None:
        """Store the upload; None, with the errors at their fields, if it is refused."""
        file = self.cleaned_data["file"]
        file_name = file.name if file else ENTRY
        content = b""
        try:
            content = read_file(file) if file else self._pasted()
            if not may_try_upload(self.owner.pk):
                self.is_too_often = True
                raise Refusal(_("You have tried to upload too often. Please wait an hour, and try again."))
            bot, name, note = (self.cleaned_data[field] for field in ("bot", "name", "note"))
            return add_version(self.owner, bot=bot, name=name, file_name=file_name, data=content, note=note)
        except UploadError as error:
            self.add_error("file" if file else "source", error_text(error, file_name))
            self._show_place(error, content)
        except NameRefused as refusal:
            self.add_error("name", str(refusal))
        except NoteRefused as refusal:
            self.add_error("note", str(refusal))
        except Refusal as refusal:
            self.unchanged = refusal.version if isinstance(refusal, Unchanged) else None
            self.add_error(None, str(refusal))
        if file:
            self._keep_text(content)
        return None

    def _pasted(self) -> bytes:
        # Browsers send every line end of a text field as CR LF.
        source: str = self.cleaned_data["source"]
        return source.replace("\r\n", "\n").encode("utf-8", "surrogatepass")

    def _show_place(self, error: UploadError, content: bytes) -> None:
        if error.line is None or error.source is None:
            return
        self.excerpt = excerpt(error.source, error.line, error.column)
        self.excerpt_of = error.member or "" if is_archive(content) else ""

    def _keep_text(self, content: bytes) -> None:
        """Put the refused file's text into the text field: a browser forgets the file that was chosen."""
        if is_archive(content):
            self.is_archive_lost = True
            return
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            return
        assert isinstance(self.data, QueryDict)
        data = self.data.copy()
        data["source"] = text.replace("\0", "")
        self.data = data


class CompareForm(forms.Form):
    """Two versions of one bot, by their numbers."""

    old = forms.IntegerField(label=gettext_lazy("From version"), min_value=1, max_value=2**31 - 1)
    new = forms.IntegerField(label=gettext_lazy("to version"), min_value=1, max_value=2**31 - 1)

    def __init__(self, *args: Any, bot: Bot, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.bot = bot

    def clean(self) -> dict[str, Any]:
        """Put the versions in the place of their numbers."""
        super().clean()
        numbers = {field: self.cleaned_data.get(field) for field in ("old", "new")}
        wanted = self.bot.versions.select_related("source").filter(number__in=[n for n in numbers.values() if n])
        found = {version.number: version for version in wanted}
        for field, number in numbers.items():
            if number is not None and number not in found:
                self.add_error(
                    field, _("There is no version %(number)d of %(bot)s.") % {"number": number, "bot": self.bot}
                )
            elif number is not None:
                self.cleaned_data[field] = found[number]
        return self.cleaned_data


class AboutForm(forms.ModelForm[Bot]):
    """What a bot's owner tells others about it."""

    class Meta:
        model = Bot
        fields = ["about"]
        widgets = {"about": forms.Textarea(attrs={"rows": 3, "maxlength": 280})}
        help_texts = {"about": gettext_lazy("Up to 280 characters, shown on the bot's page.")}


def excerpt(content: bytes, line: int, column: int | None) -> list[SourceLine]:
    """Return the lines around `line` (from 1) of a source; `column` counts characters, from 1."""
    lines = io.StringIO(content.decode("utf-8", "replace"), newline=None).read().split("\n")
    first, last = max(1, line - CONTEXT_LINES), min(len(lines), line + CONTEXT_LINES)
    # A very long line is shown from a little before the wrong column.
    start = max(0, (column or 1) - SHOWN_COLUMNS // 2)
    shown = []
    for number in range(first, last + 1):
        text = lines[number - 1][start : start + SHOWN_COLUMNS].expandtabs(1)
        is_wrong = number == line
        mark = " " * (column - 1 - start) if is_wrong and column else None
        shown.append(SourceLine(number, text, is_wrong, mark))
    return shown
