"""The forms of the bots' pages: uploading a version, and what a bot says about itself."""

import io
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from bots.models import Bot, BotVersion
from bots.rates import may_try_upload
from bots.uploads import UploadError
from bots.versions import NAME_MAX, NameRefused, Refusal, Unchanged, add_version, error_text, read_file

PASTED_FILE_NAME = "bot.py"
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
    """A file or pasted text, for a new bot or for one of the owner's."""

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
        label=gettext_lazy("Python file"),
        required=False,
        allow_empty_file=True,
        widget=forms.FileInput(attrs={"accept": ".py,text/x-python"}),
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

    def __init__(self, *args: Any, owner: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.owner = owner
        self.excerpt: list[SourceLine] = []
        self.unchanged: BotVersion | None = None
        self.is_too_often = False
        bots = self.fields["bot"]
        assert isinstance(bots, forms.ModelChoiceField)
        bots.queryset = Bot.objects.filter(owner=owner)
        # NUL is for `uploads` to refuse, which says where it stands.
        self.fields["source"].validators = []

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
        file_name = file.name if file else PASTED_FILE_NAME
        content = b""
        try:
            content = read_file(file) if file else self._pasted()
            if not may_try_upload(self.owner.pk):
                self.is_too_often = True
                raise Refusal(_("You have tried to upload too often. Please wait an hour, and try again."))
            bot, name = self.cleaned_data["bot"], self.cleaned_data["name"]
            return add_version(self.owner, bot=bot, name=name, file_name=file_name, data=content)
        except UploadError as error:
            self.add_error("file" if file else "source", error_text(error, file_name))
            self.excerpt = excerpt(content, error.line, error.column) if error.line else []
        except NameRefused as refusal:
            self.add_error("name", str(refusal))
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

    def _keep_text(self, content: bytes) -> None:
        """Put the refused file's text into the text field: a browser forgets the file that was chosen."""
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            return
        assert isinstance(self.data, QueryDict)
        data = self.data.copy()
        data["source"] = text.replace("\0", "")
        self.data = data


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
