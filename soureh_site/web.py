"""Serve the site: `python -m soureh_site.web [--host 127.0.0.1] [--port 8000]`. Logs as the settings say."""

import argparse

import uvicorn


def main() -> None:
    """Run one web process until it is told to stop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    uvicorn.run(
        "soureh_site.asgi:application",
        host=options.host,
        port=options.port,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        ws="websockets-sansio",
        ws_max_size=64 * 1024,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=2,
    )


if __name__ == "__main__":
    main()
