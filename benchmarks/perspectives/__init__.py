"""Whether several perspectives find more than one, with a real model behind an OpenAI-compatible server."""
