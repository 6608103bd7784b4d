// The replay of a finished match (templates/games/_replay.html): steps through frames that the server made.
// Without this module the page's links do the same, a page at a time.

import { describe, fill, readTable, renderView } from "./table.js";

class Replay {
  constructor(root) {
    this.root = root;
    this.tableRoot = root.querySelector("[data-table]");
    this.table = readTable(this.tableRoot);
    this.hand = Number(root.dataset.replayHand);
    this.step = Number(root.dataset.replayStep);
    this.slider = root.querySelector("[data-slider]");
    this.playButton = root.querySelector("[data-play]");
    this.speed = root.querySelector("[data-speed]");
    this.moves = root.querySelector("[data-moves]");
    this.handCount = root.querySelectorAll("[data-hand-no]").length;
    this.framesByHand = new Map();
  }

  async load() {
    if (!(await this.fetchHand(this.hand))) return;
    this.setUp();
    this.listMoves();
    this.mark();
  }

  /** Get the frames of a hand once; false, and said in place, if that fails. */
  async fetchHand(hand) {
    if (this.framesByHand.has(hand)) return true;
    try {
      const url = new URL(this.root.dataset.frames, location.href);
      url.searchParams.set("hand", hand);
      const response = await fetch(url, { headers: { Accept: "application/json" } });
      if (!response.ok) throw new TypeError(`expected frames: status ${response.status}`);
      this.keep(hand, await response.json());
    } catch (error) {
      // The network's and the parser's errors; anything else is a mistake of ours and stays visible.
      if (!(error instanceof TypeError || error instanceof SyntaxError)) throw error;
      this.complain();
      return false;
    }
    return true;
  }

  /** The server sends the hand asked for, a list of frames, or all hands, a list of such lists. */
  keep(hand, frames) {
    if (!Array.isArray(frames[0])) this.framesByHand.set(hand, frames);
    else for (const [index, each] of frames.entries()) this.framesByHand.set(index + 1, each);
  }

  complain() {
    const box = this.root.querySelector("[data-replay-trouble]");
    box.textContent = this.table.words.load_failed;
    box.hidden = false;
  }

  get frames() {
    return this.framesByHand.get(this.hand);
  }

  get lastStep() {
    return this.frames.length - 1;
  }

  setUp() {
    for (const element of this.root.querySelectorAll("[data-play], [data-slider-label], [data-speed-label]")) {
      element.hidden = false;
    }
    for (const link of this.root.querySelectorAll("[data-step-to]")) {
      link.setAttribute("role", "button");
      link.setAttribute("tabindex", "0");
      link.addEventListener("click", (event) => this.follow(event, () => this.go(link.dataset.stepTo)));
      link.addEventListener("keydown", (event) => {
        if (event.key === " ") this.follow(event, () => this.go(link.dataset.stepTo));
      });
    }
    for (const link of this.root.querySelectorAll("[data-hand-no]")) {
      link.addEventListener("click", (event) => this.follow(event, () => this.show(Number(link.dataset.handNo), 0)));
    }
    this.moves.addEventListener("click", (event) => {
      const link = event.target.closest("[data-move-step]");
      if (link) this.follow(event, () => this.show(this.hand, Number(link.dataset.moveStep)));
    });
    this.slider.addEventListener("input", () => this.follow(null, () => this.show(this.hand, this.slider.valueAsNumber)));
    this.playButton.addEventListener("click", () => (this.isPlaying ? this.pause() : this.play()));
    document.addEventListener("keydown", (event) => this.key(event));
  }

  /** Do it here instead of loading a page; a click that asks for a new tab stays the browser's. */
  follow(event, act) {
    if (event && (event.ctrlKey || event.metaKey || event.shiftKey)) return;
    event?.preventDefault();
    this.pause();
    act();
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.target.closest("input, select, textarea, [contenteditable]")) return;
    const isRtl = getComputedStyle(this.root).direction === "rtl";
    const on = isRtl ? "ArrowLeft" : "ArrowRight";
    const back = isRtl ? "ArrowRight" : "ArrowLeft";
    const where = { [on]: "next", [back]: "prev", Home: "first", End: "last" }[event.key];
    if (where) this.follow(event, () => this.go(where));
  }

  /** Step within the hand, and over its ends into the next one. */
  go(where) {
    const { hand, step, lastStep } = this;
    if (where === "first") return this.show(hand, 0);
    if (where === "last") return this.show(hand, lastStep);
    if (where === "next" && step < lastStep) return this.show(hand, step + 1);
    if (where === "next" && hand < this.handCount) return this.show(hand + 1, 0);
    if (where === "prev" && step > 0) return this.show(hand, step - 1);
    if (where === "prev" && hand > 1) return this.show(hand - 1, Infinity);
    return Promise.resolve();
  }

  async show(hand, step) {
    this.wanted = hand;
    if (!(await this.fetchHand(hand)) || this.wanted !== hand) return;
    const isNewHand = hand !== this.hand;
    this.hand = hand;
    this.step = Math.min(step, this.lastStep);
    if (isNewHand) this.listMoves();
    const frame = this.frames[this.step];
    renderView(this.tableRoot, frame.view, { event: frame.event });
    this.mark();
    const url = new URL(location.href);
    url.searchParams.set("hand", hand);
    url.searchParams.set("step", this.step);
    history.replaceState(null, "", url);
    if (this.step > this.lastStep - 3 && hand < this.handCount) this.fetchHand(hand + 1);
  }

  /** Say where we are: slider, words, hand, move, and which steps are left. */
  mark() {
    const { words } = this.table;
    this.slider.max = this.lastStep;
    this.slider.value = this.step;
    const where = fill(words.step, { hand: this.hand, step: this.step, steps: this.lastStep });
    this.slider.setAttribute("aria-valuetext", where);
    this.root.querySelector("[data-where]").textContent = where;
    for (const link of this.root.querySelectorAll("[data-hand-no]")) {
      setCurrent(link, Number(link.dataset.handNo) === this.hand, "true");
    }
    for (const link of this.moves.querySelectorAll("[data-move-step]")) {
      setCurrent(link, Number(link.dataset.moveStep) === this.step, "step");
    }
    this.scrollToMove();
    const atStart = this.step === 0;
    const atEnd = this.step === this.lastStep;
    const done = {
      first: atStart,
      prev: atStart && this.hand === 1,
      next: atEnd && this.hand === this.handCount,
      last: atEnd,
    };
    for (const link of this.root.querySelectorAll("[data-step-to]")) {
      link.setAttribute("aria-disabled", String(done[link.dataset.stepTo]));
    }
  }

  scrollToMove() {
    const current = this.moves.querySelector("[aria-current]");
    if (!current) return;
    const entry = current.closest("li");
    const top = entry.offsetTop - (this.moves.clientHeight - entry.clientHeight) / 2;
    this.moves.scrollTo({ top });
  }

  listMoves() {
    const entries = this.frames.map((frame, step) => {
      const entry = document.createElement("li");
      const link = document.createElement("a");
      const text = document.createElement("span");
      const opening = fill(this.table.words.hand_no, { no: this.hand });
      text.textContent = frame.event ? describe(this.table.words, this.table.names, frame.event) : opening;
      link.href = `?hand=${this.hand}&step=${step}`;
      link.dataset.moveStep = step;
      link.append(text);
      if (frame.ms !== null && frame.ms !== undefined) link.append(this.time(frame.ms));
      entry.append(link);
      return entry;
    });
    this.moves.replaceChildren(...entries);
  }

  time(ms) {
    const time = document.createElement("span");
    time.className = "replay-ms";
    time.textContent = fill(this.table.words.ms, { ms });
    return time;
  }

  get isPlaying() {
    return this.timer !== undefined;
  }

  play() {
    const tick = async () => {
      const isOver = this.step === this.lastStep && this.hand === this.handCount;
      if (isOver) {
        this.pause();
        return;
      }
      const { timer } = this;
      await this.go("next");
      if (this.timer !== timer) return;
      this.timer = setTimeout(tick, Number(this.speed.value));
    };
    this.timer = setTimeout(tick, Number(this.speed.value) / 2);
    this.playButton.textContent = this.table.words.pause;
    this.playButton.setAttribute("aria-pressed", "true");
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.playButton.textContent = this.table.words.play;
    this.playButton.setAttribute("aria-pressed", "false");
  }
}

function setCurrent(link, isCurrent, value) {
  if (isCurrent) link.setAttribute("aria-current", value);
  else link.removeAttribute("aria-current");
}

/** Set up the replays in `part`, once. */
export function connectReplays(part) {
  for (const root of part.querySelectorAll("[data-replay]")) {
    if (!root.dataset.frames || root.replay) continue;
    root.replay = new Replay(root);
    root.replay.load();
  }
}

connectReplays(document);
