"""The story of a month, a year or any range: what grew and faded, where feelings turned, who was there, what was quiet.

Computed from the scenes each time it is asked for and stored nowhere, so that what is forgotten is gone from it. Every
statement names the scenes that it rests on. Refuses to change anything, and to count as recalling.
"""

from everloom.episodic.story.making import tell_story
from everloom.episodic.story.period import StoryRequest
from everloom.episodic.story.results import Story, StoryPicture, StoryStatement

__all__ = ["Story", "StoryPicture", "StoryRequest", "StoryStatement", "tell_story"]
