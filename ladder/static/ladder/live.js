// Keep a page up to date: <div data-news="/ws/…"> holds parts (data-part, each with an id). When the socket says
// that something changed, the page's parts are fetched again and those that differ are put in place. A part with
// data-key stays as it is while its key does: a live table goes on undisturbed.

const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 30000;
const GATHER_MS = 300; // several notices at once are one update
const DUE_MS = 4000; // a round that was due should have been announced by then
const FLOODED = 4008;

class Live {
  constructor(root) {
    this.root = root;
    this.retries = 0;
    this.isFetching = false;
    this.isStale = false;
  }

  open() {
    clearTimeout(this.retry);
    const url = new URL(this.root.dataset.news, location.href);
    url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    this.socket = new WebSocket(url);
    this.socket.addEventListener("open", () => {
      this.root.dataset.listens = "";
      // What happened while nobody listened was announced to nobody.
      if (this.retries || this.wasOpen) this.refreshSoon(0);
      this.wasOpen = true;
      this.retries = 0;
    });
    this.socket.addEventListener("message", () => this.refreshSoon(GATHER_MS));
    this.socket.addEventListener("close", (event) => this.lose(event.code));
  }

  lose(code) {
    delete this.root.dataset.listens;
    const backoff = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** this.retries);
    this.retries += 1;
    this.retry = setTimeout(
      () => this.open(),
      code === FLOODED ? LONGEST_RETRY_MS : backoff * (0.75 + Math.random() / 2),
    );
  }

  refreshSoon(wait) {
    clearTimeout(this.timer);
    // A page that nobody sees catches up when it is looked at.
    if (document.visibilityState === "hidden") this.isStale = true;
    else this.timer = setTimeout(() => this.refresh(), wait);
  }

  async refresh() {
    if (this.isFetching) {
      this.isStale = true;
      return;
    }
    this.isFetching = true;
    this.isStale = false;
    try {
      const response = await fetch(location.href, { headers: { "HX-Request": "true" } });
      if (response.ok) this.swap(new DOMParser().parseFromString(await response.text(), "text/html"));
    } catch (error) {
      // The network is away; the socket will notice too, and its return brings the next update.
      if (!(error instanceof TypeError)) throw error;
    } finally {
      this.isFetching = false;
    }
    if (this.isStale) this.refreshSoon(GATHER_MS);
  }

  swap(fresh) {
    for (const part of fresh.querySelectorAll("[data-part]")) {
      const old = document.getElementById(part.id);
      if (!old || (part.dataset.key !== undefined && part.dataset.key === old.dataset.key)) continue;
      const known = new Set(Array.from(old.querySelectorAll("[id]"), (element) => element.id));
      const focused = old.contains(document.activeElement) ? focusOf(document.activeElement) : null;
      old.replaceWith(document.adoptNode(part));
      for (const row of part.querySelectorAll(".match-row[id]")) row.classList.toggle("is-new", !known.has(row.id));
      if (focused) part.querySelector(focused)?.focus({ preventScroll: true });
      connectTables(part);
      if (part.querySelector("[data-replay]")) {
        import("../games/replay.js").then(({ connectReplays }) => connectReplays(part));
      }
      if (part.querySelector("[data-fairness]")) {
        import("../games/fairness.js").then(({ connectFairness }) => connectFairness(part));
      }
    }
  }
}

/** A selector that finds the focused element's successor: by its id, or by where its link leads. */
function focusOf(element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  const href = element.getAttribute("href");
  return href ? `a[href="${CSS.escape(href)}"]` : null;
}

async function connectTables(part) {
  const tables = part.querySelectorAll("[data-table][data-socket]");
  if (!tables.length) return;
  const { connectTable, setUpExpanding } = await import("../games/table.js");
  for (const table of tables) {
    setUpExpanding(table);
    connectTable(table);
  }
}

for (const root of document.querySelectorAll("[data-news]")) {
  const live = new Live(root);
  live.open();
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible" && live.isStale) live.refreshSoon(0);
  });
  addEventListener("online", () => {
    if (live.socket.readyState === WebSocket.CLOSED) live.open();
  });
  root.addEventListener("due", () => live.refreshSoon(DUE_MS));
}
