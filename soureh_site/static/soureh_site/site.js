// What every page shares: theme and deck switches, menus that close, countdowns, pending buttons, copying.
// Everything here improves a page that already works without it.

const root = document.documentElement;

function remember(key, value) {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch (error) {
    // Storage may be forbidden (private windows); the choice then lasts as long as the page.
    if (!(error instanceof DOMException)) throw error;
  }
}

function showTheme(buttons) {
  const current = root.dataset.theme ?? "system";
  for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.themeChoice === current));
}

function setUpSettings(settings) {
  settings.hidden = false;
  const buttons = settings.querySelectorAll("[data-theme-choice]");
  for (const button of buttons) {
    button.addEventListener("click", () => {
      const choice = button.dataset.themeChoice;
      if (choice === "system") delete root.dataset.theme;
      else root.dataset.theme = choice;
      remember("theme", choice === "system" ? null : choice);
      showTheme(buttons);
    });
  }
  showTheme(buttons);
  const deck = settings.querySelector("[data-deck]");
  deck.checked = root.classList.contains("four-colour");
  deck.addEventListener("change", () => {
    root.classList.toggle("four-colour", deck.checked);
    remember("deck", deck.checked ? "four" : null);
  });
}

function setUpMenus() {
  const closeAll = (except) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) if (menu !== except) menu.open = false;
  };
  document.addEventListener("click", (event) => closeAll(event.target.closest("details.menu")));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const menu = event.target.closest?.("details.menu[open]");
    closeAll(null);
    menu?.querySelector("summary").focus();
  });
}

/** "0:42", "12:05", "1:02:05" or, from a day on, "5 days, 1 hour" in the page's language, for whole seconds. */
export function formatDuration(seconds) {
  const pad = (value) => String(value).padStart(2, "0");
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  if (hours >= 24) return formatDays(Math.floor(hours / 24), hours % 24);
  if (hours) return `${hours}:${pad(minutes)}:${pad(seconds % 60)}`;
  return `${minutes}:${pad(seconds % 60)}`;
}

function formatDays(days, hours) {
  const language = root.lang || undefined;
  const say = (value, unit) => new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" }).format(value);
  const parts = hours ? [say(days, "day"), say(hours, "hour")] : [say(days, "day")];
  return new Intl.ListFormat(language, { type: "unit" }).format(parts);
}

function tickCountdowns() {
  for (const time of document.querySelectorAll("time[data-countdown]")) {
    const left = Math.ceil((Date.parse(time.dataset.countdown) - Date.now()) / 1000);
    if (Number.isNaN(left)) continue;
    if (left > 0) {
      delete time.dataset.state;
      time.textContent = formatDuration(left);
    } else if (time.dataset.state !== "due") {
      time.dataset.state = "due";
      time.textContent = time.dataset.due ?? formatDuration(0);
      time.dispatchEvent(new CustomEvent("due", { bubbles: true }));
    }
  }
}

function setUpPending() {
  document.addEventListener("submit", (event) => {
    if (event.defaultPrevented) return;
    const button = event.submitter ?? event.target.querySelector("button[type=submit], button:not([type])");
    if (!button) return;
    if (button.getAttribute("aria-busy") === "true") {
      event.preventDefault();
      return;
    }
    button.setAttribute("aria-busy", "true");
    if (button.dataset.pending) {
      button.dataset.label = button.textContent;
      button.textContent = button.dataset.pending;
    }
  });
  // A page that comes back from the browser's cache is ready to be sent again.
  window.addEventListener("pageshow", () => {
    for (const button of document.querySelectorAll("button[aria-busy=true]")) {
      button.removeAttribute("aria-busy");
      if (button.dataset.label) button.textContent = button.dataset.label;
    }
  });
}

function setUpClicks() {
  document.addEventListener("click", async (event) => {
    const close = event.target.closest("[data-dismiss]");
    if (close) close.closest(close.dataset.dismiss).remove();
    const copy = event.target.closest("[data-copy]");
    if (copy) {
      await navigator.clipboard.writeText(document.querySelector(copy.dataset.copy).textContent.trim());
      copy.textContent = copy.dataset.copied ?? copy.textContent;
    }
  });
  for (const button of document.querySelectorAll("[data-dismiss], [data-copy]")) {
    // Over plain HTTP only the own machine has a clipboard.
    button.hidden = button.matches("[data-copy]") && !navigator.clipboard;
  }
}

/** Dates in the reader's own zone: <time datetime="…" data-local> as a tip, data-local-text as its text. */
function localiseTimes(within = document) {
  const format = new Intl.DateTimeFormat(root.lang || undefined, { dateStyle: "medium", timeStyle: "short" });
  for (const time of within.querySelectorAll("time[data-local]")) {
    const when = new Date(time.dateTime);
    if (!Number.isNaN(when.getTime())) time.title = format.format(when);
  }
  // Where that is worth a column of its own: only who has JavaScript has a zone that we know.
  const full = new Intl.DateTimeFormat(root.lang || undefined, {
    weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23",
  });
  for (const time of within.querySelectorAll("time[data-local-text]")) time.textContent = full.format(new Date(time.dateTime));
  for (const zone of within.querySelectorAll("[data-local-zone]")) zone.textContent = `(${full.resolvedOptions().timeZone})`;
  for (const column of within.querySelectorAll("[data-local-column]")) column.hidden = false;
}

/** A refused form puts its reader where it says why: what a page holds from the start is not read out by itself. */
function goToMistake() {
  document.querySelector("main .message-error[role=alert][tabindex], main [aria-invalid=true], main .errors[tabindex]")?.focus();
}

const settings = document.querySelector("[data-settings]");
if (settings) setUpSettings(settings);
setUpMenus();
setUpPending();
setUpClicks();
localiseTimes();
goToMistake();
tickCountdowns();
setInterval(tickCountdowns, 500);
