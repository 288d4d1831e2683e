"""Listening through OpenAI's audio transcriptions, or a compatible server."""

from __future__ import annotations

from secrets import token_hex

from pydantic import BaseModel

from everloom.models.hear import Recording, Transcript
from everloom.models.transport import Transport

_PATH = "/audio/transcriptions"
# The server goes by the ending of the name, so it is made from the content and not from what a sender called it.
_ENDINGS = {
    "audio/ogg": "ogg",
    "audio/mpeg": "mp3",
    "audio/mp4": "m4a",
    "audio/wav": "wav",
    "audio/flac": "flac",
}


class _Transcription(BaseModel):
    text: str


class OpenAIHear:
    """A model that listens."""

    def __init__(self, transport: Transport, model: str) -> None:
        self.name = f"openai:{model}"
        self._transport = transport
        self._model = model

    def hear(self, recording: Recording) -> Transcript:
        """Send a recording and read what was said."""
        boundary = token_hex(16)
        name = f"voice.{_ENDINGS.get(recording.media_type, 'bin')}"
        fields = "".join(
            f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'
            for field, value in (("model", self._model), ("response_format", "json"))
        )
        file = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
            f"Content-Type: {recording.media_type}\r\n\r\n"
        )
        content = b"".join([fields.encode(), file.encode(), recording.data, f"\r\n--{boundary}--\r\n".encode()])
        found = self._transport.upload(_PATH, content, f"multipart/form-data; boundary={boundary}", _Transcription)
        return Transcript(found.text)
