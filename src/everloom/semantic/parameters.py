"""The parameters that several verbs of semantic memory share, and the toolsets that offer the verbs.

A parameter that means the same thing is described once. Holds no verb.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from everloom.kernel.verbs import Says, helps
from everloom.semantic.arguments import SearchMode

# The toolset with which a memory is used and consolidated, and the one that also has what upkeep needs.
CORE = ("semantic", "semantic-full")
FULL = ("semantic-full",)

Subject = Annotated[str, Says(metavar="SUBJECT")]
Other = Annotated[str, Says(metavar="OTHER")]
Subjects = Annotated[Sequence[str], Says(metavar="SUBJECT")]
# Soul, protocol and orientation are about no subject.
AboutMaybe = Annotated[Sequence[str], helps("what it is about", flag="--about", metavar="[SUBJECT]")]
About = Annotated[Sequence[str], helps("what it is about", flag="--about", metavar="SUBJECT")]
Text = Annotated[str, Says(metavar="TEXT")]
Id = Annotated[int, Says(metavar="ID")]
Ids = Annotated[Sequence[int], Says(metavar="ID")]
Sources = Annotated[Sequence[int] | None, helps("observations it is based on", flag="--source", metavar="ID")]
SeenThrough = Annotated[
    int | None, helps("the last id you read; without it, what you were given to read", metavar="ID")
]
Dismissed = Annotated[
    Sequence[int] | None, helps("observations that need no place in it", flag="--dismiss", metavar="ID")
]
Origin = Annotated[str | None, Says("tool, import, web:SITE", metavar="ORIGIN")]
Reason = Annotated[str | None, helps("why", flag="--reason")]
Alias = Annotated[str, Says(metavar="ALIAS")]
Duplicate = Annotated[str, Says(metavar="DUPLICATE")]
Tags = Annotated[Sequence[str], Says(metavar="[TAG]")]
Summary = Annotated[str, Says(metavar="SUMMARY")]
Limit = Annotated[int, helps("maximum number of results", flag="--limit", hides_default=True)]
Mode = Annotated[SearchMode, helps("what to search by", flag="--mode")]
Version = Annotated[int | None, Says("the version you read; fails if there is a newer one", metavar="NUMBER")]
