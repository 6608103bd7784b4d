"""What an upload may be like, in figures, and the error that says why one is refused. Never imports Django."""

ENTRY = "bot.py"
KIB = 1024
SOURCE_MAX = 256 * KIB
# Of an archive as it is sent, and of all that it unpacks to.
MAX_BYTES = 1024 * KIB
UNPACKED_MAX = 4096 * KIB
MEMBERS_MAX = 100
DEPTH_MAX = 6
PATH_MAX = 120


def _(text: str) -> str:
    """Mark a text for translation; whoever shows it translates it."""
    return text


class UploadError(Exception):
    """Why an upload is refused: a sentence for its owner, and the place in the source if there is one.

    `str(error)` is `template % params`; `line` and `column` count from 1, in characters. `member` is the file of
    the upload that is at fault, by its path inside /bot, and `source` what it holds where `line` points into it.
    """

    def __init__(
        self,
        template: str,
        *,
        line: int | None = None,
        column: int | None = None,
        source: bytes | None = None,
        **params: object,
    ) -> None:
        self.template, self.params = template, {**params, "line": line, "column": column}
        self.message = template % self.params
        super().__init__(self.message)
        self.line, self.column, self.source = line, column, source
        self.member = str(params["name"]) if "name" in params else None


def require_size(name: str, size: int, most: int = SOURCE_MAX) -> None:
    """Refuse a file of more than `most` bytes, by default those of a Python file. UploadError."""
    if size > most:
        raise UploadError(_("%(name)s is too large: at most %(most)d KiB."), name=name, most=most // KIB)
