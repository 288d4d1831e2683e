// The conversation as it goes on: shows messages as they are stored and words as they are written, and sends without
// leaving the page. Everything it shows, a reload shows as well.

import { listen } from "/static/live.js";

const log = document.getElementById("log");
const writing = document.getElementById("writing");
const words = document.getElementById("words");
const tools = document.getElementById("tools");
const connection = document.getElementById("connection");
const form = document.getElementById("send");
const newest = document.getElementById("newest");
const retry = document.getElementById("retry");
let turn = 0;

// Whoever reads further up stays there.
const isAtEnd = () => window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 240;
function keepEnd(change) {
  const follows = isAtEnd();
  change();
  if (follows) newest.scrollIntoView({ block: "end" });
}

function place(line) {
  const made = document.createElement("template");
  made.innerHTML = line.html.trim();
  const fresh = made.content.firstElementChild;
  const known = document.getElementById(fresh.id);
  if (known) {
    if (known.outerHTML !== fresh.outerHTML) {
      // What somebody has opened stays open.
      const isOpen = known.querySelector("details")?.open;
      known.replaceWith(fresh);
      if (isOpen) fresh.querySelector("details").open = true;
    }
    return;
  }
  const next = [...log.children].find((each) => Number(each.dataset.line) > line.id);
  // Older lines than the first one shown belong to another page.
  if (next && next === log.firstElementChild) return;
  log.insertBefore(fresh, next ?? null);
  document.getElementById("nothing")?.remove();
}

function offerRetry() {
  if (retry) retry.hidden = !log.querySelector('[data-state="waiting"] .trouble');
}

function begin(number) {
  if (turn !== number) {
    turn = number;
    words.textContent = "";
    tools.replaceChildren();
  }
  writing.hidden = false;
}

const NAMES = { runs: "is using", done: "used", failed: "could not use" };
listen(log.dataset.live, log.dataset.newest, {
  line: (told) => keepEnd(() => {
    place(told);
    offerRetry();
  }),
  words: (told) => keepEnd(() => {
    begin(told.turn);
    words.textContent = told.begins ? told.text : words.textContent + told.text;
  }),
  tools: (told) => keepEnd(() => {
    begin(told.turn);
    tools.replaceChildren(...told.tools.map((each) => {
      const line = document.createElement("li");
      line.className = `tool tool-${each.state}`;
      line.textContent = `${NAMES[each.state]} ${each.name}`;
      return line;
    }));
  }),
  quiet: () => keepEnd(() => {
    turn = 0;
    writing.hidden = true;
    words.textContent = "";
  }),
  reload: () => location.reload(),
}, (isConnected) => {
  connection.hidden = isConnected;
  connection.textContent = isConnected ? "" : "The server does not answer, or you are signed out. This page goes on by itself when it can; nothing is lost.";
  if (!isConnected) {
    turn = 0;
    writing.hidden = true;
    words.textContent = "";
  }
});

async function send() {
  const body = new URLSearchParams(new FormData(form));
  body.set("by", "script");
  const button = form.querySelector("button");
  const text = form.elements.text;
  button.disabled = true;
  try {
    const answer = await fetch(form.action, { method: "POST", body });
    const told = await answer.json();
    if (!answer.ok) throw new Error([told.error, told.hint].filter(Boolean).join(" — "));
    // Only now: until it is stored, the text stays where it was typed.
    text.value = "";
    form.elements.once.value = told.once;
    say("");
    newest.scrollIntoView({ block: "end" });
  } catch (error) {
    // The same form again is the same message, even if the first one did arrive.
    say(error instanceof TypeError || error instanceof SyntaxError ? "It was not sent: the server does not answer. Try again." : error.message);
  } finally {
    button.disabled = false;
    text.focus();
  }
}

function say(trouble) {
  let place = document.getElementById("trouble");
  if (!place) {
    place = document.createElement("div");
    place.id = "trouble";
    place.setAttribute("role", "alert");
    form.before(place);
  }
  place.className = trouble ? "error" : "";
  place.textContent = trouble;
}

if (form) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!form.querySelector("button").disabled) send();
  });
  form.elements.text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  document.getElementById("how").hidden = false;
  // A page that comes from the browser's memory was sent before: what is typed now is another message.
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });
}
if (!location.hash) newest.scrollIntoView({ block: "end" });
