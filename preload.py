"""Imported once by the process that job processes are forked from: their imports and caches are shared.

A side-effect module on purpose; nothing else imports it.
"""

from __future__ import annotations

import src.bootstrap
import src.handlers.entry
import src.settings

src.bootstrap.preload(src.settings.Settings())
