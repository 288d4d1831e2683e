"""Anthropic's models, through the official SDK: `ask.py` puts a question, `talk.py` converses.

Owns what is special about Claude: cached prompts, compaction by the provider (`betas.py`), and how messages arrive
(`reply.py`). The SDK writes and carries requests; retries, errors and reading replies are ours, so that every provider
fails alike.
"""
