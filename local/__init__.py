"""The local stack: providers, SIP bridge, phone. Never imported by src."""
