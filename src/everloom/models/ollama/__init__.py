"""Ollama's own wire, to models that run on this machine or near it: questions, conversations, embeddings.

Knows paths and bodies; errors and retries are the transport's, vectors and shapes are checked elsewhere.
"""
