#!/usr/bin/env python3
"""Run a management command of the site."""

import os
import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line; a bad setting or an interrupt is one line on stderr, not a traceback."""
    open_standard_streams()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "soureh_site.settings")
    try:
        _run()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)


def _run() -> None:
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"error: {error}")


def open_standard_streams() -> None:
    """Open what the caller closed of standard input, output and error: else a pipe would take its number."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
            setattr(sys, name, os.fdopen(number, mode))


if __name__ == "__main__":
    main()
