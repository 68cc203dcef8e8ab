// Keeps the page up to date: asks for it again and puts in the parts that have changed. Without it, reload the page.
const SECONDS = 10;
const place = document.getElementById("live");
const button = document.createElement("button");
button.type = "button";
const said = document.createElement("span");
place.append(said, " ", button);
let running = true;

function show(text) {
  said.textContent = text;
  button.textContent = running ? "Stop updating" : "Update again";
}

async function refresh() {
  try {
    const answer = await fetch(location.pathname, { credentials: "same-origin", redirect: "error" });
    if (!answer.ok) throw new Error(String(answer.status));
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const old of document.querySelectorAll("[data-live]")) {
      const now = fresh.getElementById(old.id);
      if (now && now.innerHTML !== old.innerHTML && !old.contains(document.activeElement)) {
        old.replaceChildren(...document.importNode(now, true).childNodes);
      }
    }
    show(`Updated every ${SECONDS} seconds.`);
  } catch {
    show("The service does not answer; these numbers are old.");
  }
}

async function turn() {
  if (running && !document.hidden) await refresh();
  setTimeout(turn, 1000 * SECONDS);
}

button.addEventListener("click", () => {
  running = !running;
  show(running ? `Updated every ${SECONDS} seconds.` : "Not updated any more.");
  if (running) refresh();
});
show(`Updated every ${SECONDS} seconds.`);
setTimeout(turn, 1000 * SECONDS);
