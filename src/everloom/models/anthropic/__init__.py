"""Anthropic's models, through the official SDK: `ask.py` for questions, `talk.py` for conversations.

Owns what is special about Claude: cached prompts, compaction by the provider (`betas.py`), and the format of messages
(`reply.py`). The SDK writes and sends requests; retries, errors and reading replies are ours, so that every provider
fails in the same way.
"""
