// Searches while somebody types: asks for the list of hits alone, and keeps the address in step for the back button.

const form = document.getElementById("search");
const hits = document.getElementById("hits");
let waiting;
let running;

function address(isPart) {
  const asked = new URLSearchParams(new FormData(form));
  for (const [name, value] of [...asked]) if (!value) asked.delete(name, value);
  if (isPart) asked.set("part", "hits");
  return `${form.action}?${asked}`;
}

async function ask() {
  running?.abort();
  running = new AbortController();
  try {
    const answer = await fetch(address(true), { signal: running.signal });
    if (answer.redirected || !answer.ok) {
      // Signed out, or the server is gone: the form itself shows why.
      if (answer.redirected) form.submit();
      return;
    }
    hits.innerHTML = await answer.text();
    history.replaceState(null, "", address(false));
  } catch (error) {
    if (error.name !== "AbortError") hits.setAttribute("aria-busy", "false");
  }
}

form.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(ask, 150);
});
hits.addEventListener("change", (event) => {
  if (event.target.name === "kind") ask();
});
