// Listens to a stream of this server for as long as the page is seen: pauses when it is hidden, comes back by itself,
// and takes up where it ended. `told` has a function for each kind of event; `changed` hears whether it is connected.

const PATIENCE = [1000, 2000, 5000, 15000, 30000];
// Switching tabs back and forth should not cost a new connection each time.
const HIDDEN_AFTER = 5000;

export function listen(path, after, told, changed = () => {}) {
  let source = null;
  let last = after;
  let failures = 0;
  let timer = null;
  let hiding = null;

  function open() {
    clearTimeout(timer);
    if (source || document.hidden) return;
    source = new EventSource(`${path}?after=${last}`);
    source.onopen = () => {
      failures = 0;
      changed(true);
    };
    for (const [name, hear] of Object.entries(told)) {
      source.addEventListener(name, (event) => {
        if (event.lastEventId) last = event.lastEventId;
        hear(JSON.parse(event.data));
      });
    }
    source.onerror = () => {
      // A stream that ended whole is opened again at once; one that was refused or lost, after a pause.
      close();
      failures += 1;
      if (failures > 1) changed(false);
      timer = setTimeout(open, failures > 1 ? PATIENCE[Math.min(failures - 2, PATIENCE.length - 1)] : 200);
    };
  }

  function close() {
    clearTimeout(timer);
    source?.close();
    source = null;
  }

  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiding);
    if (document.hidden) hiding = setTimeout(close, HIDDEN_AFTER);
    else open();
  });
  // A page that the browser keeps for the back button must not hold a connection.
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", open);
  open();
}
