"""The demo page's server: hands out sessions with an agent and shows the remembered-caller story."""
