"""A simulated phone: SIP over UDP and G.711 u-law over RTP, on loopback, every packet with its time."""

from local.phone.call import Answer, Call, CallRefusedError, Transcribe
from local.phone.endpoint import Timers
from local.phone.hearing import CallEndedError, Gap, Sound
from local.phone.inbound import InboundCall
from local.phone.outbound import OutboundCall
from local.phone.phone import Phone
from local.phone.rtp import RATE_HZ, Pcm

__all__ = [
    "RATE_HZ",
    "Answer",
    "Call",
    "CallEndedError",
    "CallRefusedError",
    "Gap",
    "InboundCall",
    "OutboundCall",
    "Pcm",
    "Phone",
    "Sound",
    "Timers",
    "Transcribe",
]
