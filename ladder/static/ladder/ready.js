// On every page of a person who is ready for a game: asks every few seconds whether his table waits, which also keeps
// him ready, and calls him when it does.

const EVERY_MS = 5000;
const CALL_MS = 1000; // the title blinks

const root = document.querySelector("[data-ready]");
const part = (name) => root.querySelector(`[data-${name}]`);

async function ask() {
  const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
  let answer;
  try {
    const response = await fetch(root.dataset.ready, { method: "POST", headers: { "X-CSRFToken": token } });
    if (!response.ok) throw new TypeError(`expected an answer: status ${response.status}`);
    answer = await response.json();
  } catch (error) {
    // The network's errors: asked again.
    if (!(error instanceof TypeError)) throw error;
    setTimeout(ask, EVERY_MS);
    return;
  }
  if (answer.table) call(answer.table);
  else if (answer.ready_until) setTimeout(ask, EVERY_MS);
  else show("over");
}

function show(name) {
  for (const each of ["waiting", "called", "over"]) part(each).hidden = each !== name;
}

function call(table) {
  part("called").querySelector("a").href = table;
  show("called");
  const title = document.title;
  const words = part("called").querySelector("strong").textContent;
  setInterval(() => {
    document.title = document.title === title ? words : title;
  }, CALL_MS);
}

if (root) {
  part("by-itself").hidden = false;
  setTimeout(ask, EVERY_MS);
}
