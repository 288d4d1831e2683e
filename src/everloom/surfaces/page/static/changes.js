// Says how much has changed since the page was loaded, and moves nothing: whoever wants to see it loads the page again.

import { listen } from "/static/live.js";

const place = document.getElementById("changes");
// The conversation follows what is said by itself; a second connection would tell it nothing.
const isFollowed = document.querySelector("[data-live]");
const PAUSE = 2000;
let count = 0;
let timer = null;

function show() {
  timer = null;
  const link = document.createElement("a");
  link.href = location.href.split("#")[0];
  link.textContent = "show them";
  link.addEventListener("click", (event) => {
    event.preventDefault();
    location.reload();
  });
  const said = count === 1 ? "1 change" : `${count} changes`;
  place.replaceChildren(`${said} since this page was loaded — `, link);
}

if (place && !isFollowed) {
  listen(`${document.body.dataset.workspace}changes`, document.body.dataset.event, {
    changes: (told) => {
      count += told.count;
      // Not more often than somebody can read, or listen to.
      timer ??= setTimeout(show, PAUSE);
    },
  });
}
