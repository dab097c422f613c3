"""Open a page in a graphical browser."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser

__all__ = ["open_browser"]


def open_browser(address: str) -> bool:
    """Open a page and return whether there is a browser; never one that would take over the terminal."""
    on_screen = sys.platform in ("win32", "darwin") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    if not on_screen and not os.environ.get("BROWSER"):
        return False
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    threading.Thread(target=browser.open, args=[address], daemon=True).start()  # some wait until they are closed
    return True
