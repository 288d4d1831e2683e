"""Ollama's native API, for models on this machine or nearby: questions, conversations, embeddings.

Owns paths and bodies. Refuses to know retries (the transport's), and to check vectors and values.
"""
