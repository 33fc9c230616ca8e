"""A prompt, and short forms of chat requests. No engine: words alone decide the answers."""

from typing import Any

from local.providers.conversation import ChatRequest
from local.providers.grounded_reply import Reply, reply_to
from local.providers.matching import Matcher

PROMPT = """You are Clara of Acme Health, a friendly phone assistant. Never give medical advice.

# Knowledge
We are open from nine to five on weekdays.
Refunds take three to five business days after approval.
Q: Do you rent wheelchairs?
A: Yes, for fifteen euros a day.
## Opening hours at weekends
Saturday ten to four.
## Customer
plan: Gold
Delivery days: Monday and Friday.
"""


def system(text: str) -> dict[str, Any]:
    return {"role": "system", "content": text}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def ask(*messages: dict[str, Any], **more: Any) -> Reply:
    return reply_to(ChatRequest.model_validate({"messages": messages, **more}), Matcher())


def said(*messages: dict[str, Any], **more: Any) -> str:
    return ask(*messages, **more).text
