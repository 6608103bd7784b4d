// Follows what is about to change and is not a table of cards yet: an element [data-follow] with the `data-state` it
// shows. When the socket in `data-socket` tells another state, or without a socket every few seconds, the page is
// fetched again; with `data-in-place` only the element of that id is replaced, otherwise the page is loaded anew.

const POLL_MS = 3000;
const RETRY_MS = 2000;

async function refresh(element) {
  const id = element.dataset.inPlace;
  if (!id) {
    location.reload();
    return;
  }
  let text;
  try {
    const response = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!response.ok) throw new TypeError(`expected the page: status ${response.status}`);
    text = await response.text();
  } catch (error) {
    // The network's errors: the page stays as it is and is tried again.
    if (!(error instanceof TypeError)) throw error;
    setTimeout(() => refresh(element), POLL_MS);
    return;
  }
  const fresh = new DOMParser().parseFromString(text, "text/html").getElementById(id);
  if (!fresh) return;
  element.replaceWith(fresh);
  if (fresh.matches("[data-follow]")) follow(fresh);
}

function follow(element) {
  let isDone = false;
  const again = (delay) => {
    if (isDone) return;
    isDone = true;
    setTimeout(() => refresh(element), delay);
  };
  if (!element.dataset.socket) {
    again(POLL_MS);
    return;
  }
  const url = new URL(element.dataset.socket, location.href);
  url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  const socket = new WebSocket(url);
  socket.addEventListener("message", ({ data }) => {
    const message = JSON.parse(data);
    if (!message.state || message.state === element.dataset.state) return;
    again(0);
    socket.close();
  });
  socket.addEventListener("close", () => again(RETRY_MS));
}

for (const element of document.querySelectorAll("[data-follow]")) follow(element);
