// What every page can do beyond reading: "/" goes to the search, the choice of colours is sent at once.

const find = document.getElementById("question") ?? document.getElementById("find");

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key === "/" && find && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    find.focus();
    find.select();
  }
});

const theme = document.getElementById("theme");
theme?.addEventListener("change", () => theme.form.requestSubmit());
theme?.form.querySelector("button")?.classList.add("unseen");
