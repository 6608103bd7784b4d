#!/usr/bin/env python3
"""Run a management command of the site."""

import os
import sys


def main() -> None:
    """Run the command line; a bad setting is one line on stderr, not a traceback."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "soureh_site.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
