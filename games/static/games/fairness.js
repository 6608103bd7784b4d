// Whether a finished match was dealt fairly (templates/games/_fairness.html): fetches the match's record when asked
// to, recomputes every shuffle in this browser and shows how. Without this module the page tells how to do it at home.

import { NoRecord, recompute, Unfair } from "./recompute.js";
import { fill } from "./table.js";

const SHOWN = 8; // first cards of a deck

class Fairness {
  constructor(root) {
    this.root = root;
    this.words = JSON.parse(root.dataset.words);
    this.button = root.querySelector("[data-recompute]");
    this.progress = root.querySelector("[data-recompute-progress]");
    this.verdict = root.querySelector("[data-verdict]");
    this.work = root.querySelector("[data-work]");
    this.steps = root.querySelector("[data-work-steps]");
    this.button.addEventListener("click", () => this.check());
    // A browser has its hash functions on secure pages only: https, or this very computer.
    if (globalThis.crypto?.subtle) this.button.hidden = false;
    else this.say("no_crypto", {}, "warning");
  }

  async check() {
    // Stays in place and in focus; pressing it again while it works does nothing.
    if (this.button.getAttribute("aria-busy") === "true") return;
    this.button.setAttribute("aria-busy", "true");
    this.verdict.hidden = true;
    this.steps.replaceChildren();
    this.done = { hands: 0, reshuffles: 0 };
    try {
      const text = await this.fetchRecord();
      if (text !== null) await this.recompute(text);
    } finally {
      this.progress.hidden = true;
      this.button.removeAttribute("aria-busy");
      this.button.textContent = this.words.again;
    }
  }

  /** The record's text; null, and said in place, if the network fails. */
  async fetchRecord() {
    try {
      const response = await fetch(this.root.dataset.record, { headers: { Accept: "application/json" } });
      if (!response.ok) throw new TypeError(`expected a record: status ${response.status}`);
      return await response.text();
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      this.say("not_fetched", {}, "warning");
      return null;
    }
  }

  async recompute(text) {
    this.progress.hidden = false;
    this.work.hidden = false;
    try {
      await recompute(JSON.parse(text), this.root.dataset.commitment, (step) => this.show(step));
    } catch (error) {
      if (error instanceof Unfair) this.tellUnfair(error);
      else if (error instanceof NoRecord || error instanceof SyntaxError) this.say("no_record", {}, "error");
      else throw error;
      return;
    }
    this.say("fair", this.done, "success");
  }

  tellUnfair({ what, values }) {
    const { nothing, places } = this.words;
    const place = fill(places[what], {
      ...values,
      expected: values.expected ?? nothing,
      found: values.found ?? nothing,
    });
    this.say("unfair", { place }, "error");
    this.addStep(place, "", "is-wrong");
    this.work.open = true;
    this.steps.scrollTop = this.steps.scrollHeight;
  }

  say(word, values, kind) {
    this.verdict.className = `message message-${kind}`;
    this.verdict.querySelector("strong").textContent = this.words[word];
    this.verdict.querySelector("span").textContent = fill(this.words[`${word}_more`], values);
    this.verdict.hidden = false;
  }

  show(step) {
    const { words } = this;
    if (step.step === "commitment") this.addStep(words.commitment, step.value);
    else if (step.step === "key") this.showKey(step);
    else if (step.step === "seats") this.showSeats(step);
    else this.showHand(step);
  }

  /** The key and the players' own seeds stand nowhere to be compared with; everything after them follows from them. */
  showKey({ value, seeds }) {
    const given = seeds.filter(Boolean).map((seed) => JSON.stringify(seed));
    this.addStep(this.words.player_seeds, given.join(" ") || this.words.none, "is-said");
    this.addStep(this.words.key, value, "is-said");
  }

  showSeats({ rounds, names }) {
    if (!rounds.length) this.addStep(this.words.fixed_seats, "", "is-said");
    for (const [index, drawn] of rounds.entries()) {
      const cards = Array.from(drawn, ([entrant, card]) => `${names[entrant]} ${card}`).join(", ");
      this.addStep(fill(this.words.round, { round: index + 1 }), cards);
    }
  }

  showHand({ no, of, deck, reshuffles }) {
    this.addStep(fill(this.words.hand, { hand: no, label: `deal/${no}` }), firstOf(deck));
    for (const [index, cards] of reshuffles.entries()) {
      const label = `reshuffle/${no}/${index + 1}`;
      this.addStep(fill(this.words.new_stock, { hand: no, label }), firstOf(cards));
    }
    this.done.hands = no;
    this.done.reshuffles += reshuffles.length;
    const bar = this.progress.querySelector("progress");
    bar.max = of;
    bar.value = no;
    this.progress.querySelector("[data-count]").textContent = `${no} / ${of}`;
  }

  /** Add a line; `is-same` says that it equals the record. */
  addStep(text, value, kind = "is-same") {
    const line = document.createElement("li");
    line.className = kind;
    line.append(text);
    if (value) {
      const code = document.createElement("code");
      code.className = "hex";
      code.textContent = value;
      line.append(" ", code);
    }
    if (kind === "is-same") {
      const mark = document.createElement("span");
      mark.className = "same-mark";
      mark.textContent = this.words.same;
      line.append(" ", mark);
    }
    this.steps.append(line);
  }
}

function firstOf(cards) {
  return cards.slice(0, SHOWN).join(" ") + (cards.length > SHOWN ? " …" : "");
}

/** Set up what is in `part`, once. */
export function connectFairness(part) {
  for (const root of part.querySelectorAll("[data-fairness]")) root.fairness ??= new Fairness(root);
}

connectFairness(document);
