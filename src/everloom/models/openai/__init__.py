"""OpenAI's API, as offered by OpenAI and by compatible servers: questions, conversations, embeddings.

Owns paths and bodies. Refuses to know retries (the transport's), and to check vectors and values.
"""
