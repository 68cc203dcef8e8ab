// Turns the choices into sliders and computes as they move. Without it, the form is sent and the page comes back.
const form = document.getElementById("wish");
const result = document.getElementById("result");
const chosen = {};
let asked = 0;
let timer;

for (const select of form.querySelectorAll("select")) {
  const stops = [...select.options].map((one) => ({ value: one.value, text: one.text }));
  const output = document.getElementById(`${select.id}-now`);
  const slider = document.createElement("input");
  Object.assign(slider, { type: "range", min: 0, max: stops.length - 1, step: 1, value: select.selectedIndex, id: select.id });
  const show = () => {
    const stop = stops[slider.value];
    chosen[select.name] = stop.value;
    output.textContent = stop.text;
    slider.setAttribute("aria-valuetext", stop.text);
  };
  slider.addEventListener("input", () => {
    show();
    clearTimeout(timer);
    timer = setTimeout(compute, 150);
  });
  select.replaceWith(slider);
  show();
}
form.querySelector("button").parentElement.remove();
form.addEventListener("submit", (event) => event.preventDefault());

async function compute() {
  const mine = ++asked;
  result.setAttribute("aria-busy", "true");
  const query = new URLSearchParams(chosen);
  let parts;
  try {
    const answer = await fetch(`/design.json?${query}`, { credentials: "same-origin", redirect: "error" });
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.reason);
    parts = document.importNode(new DOMParser().parseFromString(found.html, "text/html").body, true).childNodes;
  } catch {
    const sentence = document.createElement("p");
    sentence.textContent = "The service does not answer; move a slider to try again.";
    parts = [sentence];
  }
  if (mine !== asked) return; // a later question is under way
  result.replaceChildren(...parts);
  result.setAttribute("aria-busy", "false");
  history.replaceState(null, "", `/design?${query}`);
}
