"""Doctor: the checks of `everloom doctor` as a page, run in the background, because some read the whole store."""

from __future__ import annotations

from starlette.responses import Response

from everloom.checks import Check, examine, examine_program
from everloom.surfaces.page.background import INQUIRIES, WAIT_SECONDS, Inquiry
from everloom.surfaces.page.paths import form, look
from everloom.surfaces.page.visit import Visit

_DOCTOR = "/doctor"
_ORDER = {"fail": 0, "warn": 1, "ok": 2}


def doctor(visit: Visit) -> Response:
    """Show the latest examination, what does not work first."""
    visit.must_own()
    latest = INQUIRIES.latest(visit.entrance, "doctor")
    found: list[Check] = [] if latest is None else [*latest.found]
    if latest is not None and latest.error is not None:
        found.append(Check("doctor", "fail", latest.error.message, latest.error.hint))
    checks = sorted(found, key=lambda each: _ORDER[each.state])
    return visit.page("doctor.html", title="Doctor", latest=latest, checks=checks)


def run(visit: Visit) -> Response:
    """Run the checks."""
    visit.must_own()
    loom, deep = visit.loom, visit.form.is_on("deep")

    def check(inquiry: Inquiry) -> None:
        # One by one: whoever looks meanwhile sees how far it is.
        inquiry.found.extend(examine_program())
        inquiry.found.extend(examine(loom, deep=deep))

    begun = INQUIRIES.begin(visit.entrance, "doctor", check)
    begun.ended.wait(WAIT_SECONDS)
    return visit.go(_DOCTOR, "The checks are running. Load this page again." if begun.is_running else "")


PATHS = (
    look(_DOCTOR, doctor),
    form(_DOCTOR, run),
)
