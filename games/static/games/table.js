// A table of cards: renderView() puts a view of the game into the fragment templates/games/_table.html, and
// connectTable() keeps it live over the table's socket and lets its reader move. No rule of the game is in
// here: what may be done is the list `legal` that the server sends; words come from the server too.

import { formatDuration } from "../soureh_site/site.js";

const HIDDEN = "??";
const MOVES = { keep: "k", swap: "s", discard: "d", pick: "p" };

/** Fill the gaps of a sentence: fill("{name} drew", {name: "Mim"}). */
export function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (gap, key) => values[key] ?? gap);
}

/** Read from the server-rendered root what does not change while the page is open. */
export function readTable(root) {
  root.tableData ??= {
    words: JSON.parse(root.dataset.words),
    names: JSON.parse(root.dataset.names),
    sprite: root.dataset.sprite,
    base: Number(root.dataset.base),
    target: root.dataset.target ? Number(root.dataset.target) : null,
  };
  return root.tableData;
}

export function cardName(words, code) {
  if (code === null || code === undefined) return words.no_card;
  if (code === HIDDEN) return words.hidden_card;
  return fill(words.card, { rank: words.ranks[code[0]], suit: words.suits[code[1]] });
}

function slotLabel(words, face, slot, code, own) {
  const known = face === "up" ? "up" : code === HIDDEN ? "down" : own ? "down_own" : "down_shown";
  const key = code === null || code === undefined ? `${face}_none` : known;
  return fill(words[key], { slot: slot + 1, card: cardName(words, code) });
}

// ---- what happened, in words

/** Say one happening of the table's log in a sentence; `names` is by seat. */
export function describe(words, names, event) {
  if (event.move) return describeMove(words, names, event);
  if (event.event === "hand_end") return describeHandEnd(words, names, event);
  if (event.event === "game_end") {
    const seats = names.map((name, seat) => ({ name, place: event.places[seat], total: event.totals[seat] }));
    seats.sort((a, b) => a.place - b.place);
    return fill(words.game_end, { places: seats.map((seat) => fill(words.placed, seat)).join(", ") });
  }
  if (event.event === "hand") return fill(words.hand, { no: event.no, name: names[event.dealer] });
  const own = event.event === "fault" && ["resigned", "left"].includes(event.kind) ? event.kind : event.event;
  return words[own] ? fill(words[own], { name: names[event.seat], kind: event.kind }) : "";
}

function describeMove(words, names, event) {
  const move = event.move.replace("!", "");
  const name = names[event.seat];
  let said;
  if (move === "show" || move === "go") said = fill(words[move], { name });
  else if (move[0] === MOVES.keep)
    said = fill(words.keep, { name, slot: Number(move[1]) + 1, card: cardName(words, event.out) });
  else if (move[0] === MOVES.swap) {
    const gaps = { name, other: names[Number(move[1])], slot: Number(move[2]) + 1, card: cardName(words, event.card) };
    said = fill(words.swap, gaps);
  } else said = fill(move[0] === MOVES.pick ? words.pick : words.discard, { name });
  return event.move.endsWith("!") ? fill(words.called, { move: said }) : said;
}

function describeHandEnd(words, names, event) {
  const scored = names
    .map((name, seat) => ({ name, points: event.points[seat], bonus: event.bonus[seat] }))
    .filter((seat) => seat.points)
    .map((seat) => fill(seat.bonus ? words.scored_bonus : words.scored, seat));
  const key = { washout: "hand_washout", stopped: "hand_stopped" }[event.end] ?? "hand_won";
  return fill(words[key], { no: event.no, name: names[event.winner], points: scored.join(", ") });
}

/** The places (data-slot values, "discard") that a move touched. */
function touched(event) {
  const move = event?.move?.replace("!", "") ?? "";
  if (/^k\d$/.test(move)) return [`${event.seat}-down-${move[1]}`, "discard"];
  if (/^s\d\d$/.test(move)) return [`${move[1]}-up-${move[2]}`, "discard"];
  return move === MOVES.discard ? ["discard"] : [];
}

// ---- a view, on the page

/** Put `view` into the table; `event`, the last happening, is marked where it happened and announced. */
export function renderView(root, view, { event = null, said = null } = {}) {
  const table = readTable(root);
  const marks = touched(event);
  root.querySelector("[data-hand]").textContent = fill(table.words.hand_no, { no: view.hand });
  for (const seat of root.querySelectorAll("[data-seat]")) renderSeat(table, seat, view, marks);
  renderMiddle(table, root, view, marks);
  renderCall(table, root, view);
  renderTotals(table, root, view);
  const text = said ?? (event ? describe(table.words, table.names, event) : "");
  root.querySelector("[data-last]").textContent = text;
  if (text) announce(root, text);
}

function setCard(table, holder, code, label) {
  const card = holder.querySelector(".card");
  const shown = code ?? "";
  card.classList.toggle("card-none", !shown);
  card.querySelector("svg").setAttribute("aria-label", label);
  if (card.dataset.card === shown) return;
  card.dataset.card = shown;
  const href = shown ? `${table.sprite}#${shown === HIDDEN ? "back" : shown}` : "";
  card.querySelector("use").setAttribute("href", href);
}

function renderSeat(table, element, view, marks) {
  const seat = Number(element.dataset.seat);
  const own = view.you === seat;
  for (const face of ["down", "up"]) {
    for (let slot = 0; slot < 4; slot += 1) {
      const code = view[face][seat]?.[slot] ?? null;
      const place = element.querySelector(`[data-slot="${seat}-${face}-${slot}"]`);
      setCard(table, place, code, slotLabel(table.words, face, slot, code, own));
      place.classList.toggle("is-last", marks.includes(place.dataset.slot));
      place.classList.toggle("is-private", face === "down" && own && code !== null && code !== HIDDEN);
    }
  }
  for (let slot = 0; slot < 4; slot += 1) renderCoop(table, element, seat, slot, view.coops?.[seat]?.[slot] ?? null);
  element.classList.toggle("is-to-act", view.to_act === seat);
  element.classList.toggle("is-out", view.eliminated.includes(seat));
  const flags = {
    "dealer": view.dealer === seat,
    "to-act": view.to_act === seat,
    "faulted": view.faulted.includes(seat),
    "out": view.eliminated.includes(seat),
  };
  for (const mark of element.querySelectorAll("[data-mark]")) mark.hidden = !flags[mark.dataset.mark];
}

function renderCoop(table, element, seat, slot, valid) {
  const coop = element.querySelector(`[data-coop="${seat}-${slot}"]`);
  coop.dataset.valid = valid === null ? "" : valid ? "yes" : "no";
  const mark = coop.querySelector("[data-coop-mark]");
  mark.hidden = valid === null;
  mark.setAttribute("aria-label", valid ? table.words.valid : table.words.invalid);
}

function renderMiddle(table, root, view, marks) {
  const { words, names } = table;
  const stock = root.querySelector("[data-stock]");
  // Where cards are picked to count, the piles play no part and the view leaves them out.
  const isWithoutPiles = view.stock === null || view.stock === undefined;
  stock.hidden = isWithoutPiles;
  const top = view.stock ? HIDDEN : null;
  setCard(table, stock, top, cardName(words, top));
  root.querySelector("[data-stock-count]").textContent = view.stock ?? "";
  const pile = root.querySelector("[data-discard]");
  pile.hidden = isWithoutPiles;
  setCard(table, pile, view.discard ?? null, cardName(words, view.discard));
  pile.classList.toggle("is-last", marks.includes("discard"));
  root.querySelector("[data-discards-count]").textContent = view.discards ?? "";
  const isOwn = view.to_act === table.base;
  const drawn = view.drawn ?? null;
  setCard(table, root.querySelector("[data-drawn]"), isOwn ? drawn : null, cardName(words, isOwn ? drawn : null));
  const other = root.querySelector("[data-drawn-other]");
  other.hidden = isOwn || drawn === null;
  setCard(table, other, isOwn ? null : drawn, cardName(words, drawn));
  const drawer = view.to_act === null ? "" : fill(words.drawn_by, { name: names[view.to_act] });
  root.querySelector("[data-drawn-by]").textContent = drawer;
}

function renderCall({ words, names }, root, view) {
  const banner = root.querySelector("[data-call]");
  banner.hidden = !view.call;
  if (!view.call) return;
  const name = names[view.call.seat];
  const waiting = stillToPlay(view).map((seat) => names[seat]);
  banner.querySelector("[data-call-who]").textContent = fill(words.call, { name });
  banner.querySelector("[data-call-waiting]").textContent = waiting.length
    ? fill(words.call_waiting, { names: waiting.join(", ") })
    : fill(words.call_decides, { name });
  const shield = view.call.shield_used ? words.shield_used : words.shield_open;
  banner.querySelector("[data-call-shield]").textContent = shield;
}

/** The seats from the one to act up to the caller, who have a turn before the call is decided. */
function stillToPlay(view) {
  const waiting = [];
  if (view.to_act === null) return waiting;
  for (let step = 0; step < view.seats; step += 1) {
    const seat = (view.to_act + step) % view.seats;
    if (seat === view.call.seat) break;
    if (!view.eliminated.includes(seat)) waiting.push(seat);
  }
  return waiting;
}

function renderTotals(table, root, view) {
  for (const [seat, total] of view.totals.entries()) {
    const score = root.querySelector(`[data-total="${seat}"]`);
    score.querySelector("[data-total-value]").textContent = total;
    const end = Number(score.querySelector(".score-track").getAttribute("width"));
    score.querySelector("[data-total-fill]").setAttribute("width", Math.max(0, Math.min(total, end)));
  }
}

function announce(root, text) {
  root.querySelector("[data-live]").textContent = text;
}

// ---- a reader's own move

/** Lays buttons over what may be done and calls `choose(move)` once. */
class Choices {
  constructor(root, choose) {
    this.root = root;
    this.table = readTable(root);
    this.choose = choose;
    this.actions = root.querySelector("[data-actions]");
    this.prompt = root.querySelector("[data-prompt]");
    this.calling = false;
    this.hasTakenFocus = false;
  }

  /** Remember that a choice had the keyboard's focus, before it is disabled or removed and the page's start gets it. */
  keepFocus() {
    this.hasTakenFocus ||= this.root.querySelector(".target:focus-visible, [data-actions] :focus-visible") !== null;
  }

  /** Put the keyboard's focus on `element`, if it was on a choice that is gone and the reader has not moved it since. */
  giveFocusBack(element) {
    if (this.hasTakenFocus && document.activeElement === document.body) element?.focus();
    this.hasTakenFocus = false;
  }

  clear() {
    this.keepFocus();
    for (const target of this.root.querySelectorAll(".target")) target.remove();
    this.actions.replaceChildren();
    this.root.classList.remove("is-choosing");
  }

  say(text) {
    this.prompt.textContent = text;
  }

  offer(turn, view) {
    this.clear();
    this.turn = turn;
    this.view = view;
    this.root.classList.add("is-choosing");
    if (turn.legal.some((move) => move === "show" || move === "go")) this.offerShow();
    else if (turn.legal[0]?.[0] === MOVES.pick) this.offerPicks();
    else this.offerMoves();
    if (turn.deadline) this.addDeadline();
    this.giveFocusBack(this.root.querySelector(".target, [data-actions] button"));
  }

  addDeadline() {
    const time = document.createElement("time");
    time.className = "countdown";
    time.dataset.countdown = this.turn.deadline;
    this.prompt.append(" ", time);
  }

  offerMoves() {
    const { words } = this.table;
    const { legal } = this.turn;
    const canCall = legal.some((move) => move.endsWith("!"));
    this.calling &&= canCall;
    const card = cardName(words, this.turn.drawn ?? this.view.drawn);
    this.say(fill(this.calling ? words.turn_call : words.turn, { card }));
    for (const move of legal.filter((each) => each.endsWith("!") === this.calling)) this.addMove(move);
    if (canCall) this.addCallToggle();
    const discard = this.calling ? "d!" : "d";
    if (legal.includes(discard)) this.addButton(words.discard_button, discard);
  }

  addMove(move) {
    const { words, names } = this.table;
    const [kind, ...digits] = move.replace("!", "");
    const [first, second] = digits.map(Number);
    let place, label;
    if (kind === MOVES.keep) {
      place = this.slot(this.view.you, "down", first);
      label = fill(words.act_keep, { slot: first + 1, card: cardName(words, this.view.down[this.view.you][first]) });
    } else if (kind === MOVES.swap) {
      place = this.slot(first, "up", second);
      const card = cardName(words, this.view.up[first][second]);
      label = fill(words.act_swap, { other: names[first], card, slot: second + 1 });
    } else {
      place = this.root.querySelector("[data-discard]");
      label = words.act_discard;
    }
    if (move.endsWith("!")) label = `${label}, ${words.act_call}`;
    this.addTarget(place, label, () => this.pick(move)).dataset.move = move;
  }

  slot(seat, face, slot) {
    return this.root.querySelector(`[data-slot="${seat}-${face}-${slot}"]`);
  }

  addTarget(place, label, act) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "target";
    button.setAttribute("aria-label", label);
    button.title = label;
    button.addEventListener("click", act);
    place.append(button);
    return button;
  }

  addButton(text, move, { primary = false } = {}) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = primary ? "button button-primary" : "button";
    button.textContent = text;
    if (move) {
      button.dataset.move = move;
      button.addEventListener("click", () => this.pick(move));
    }
    this.actions.append(button);
    return button;
  }

  addCallToggle() {
    const label = document.createElement("label");
    const box = document.createElement("input");
    label.className = "call-toggle";
    box.type = "checkbox";
    box.checked = this.calling;
    box.dataset.callToggle = "";
    box.addEventListener("change", () => {
      this.calling = box.checked;
      this.offer(this.turn, this.view);
      this.actions.querySelector("[data-call-toggle]").focus();
    });
    label.append(box, this.table.words.call_toggle);
    this.actions.append(label);
  }

  offerShow() {
    const { words } = this.table;
    this.say(words.decide);
    if (this.turn.legal.includes("show")) this.addButton(words.show_button, "show", { primary: true });
    if (this.turn.legal.includes("go")) this.addButton(words.go_button, "go");
  }

  /** Picks: one mark a slot, chosen coop by coop among those that occur in `legal`, then confirmed. */
  offerPicks() {
    const { words } = this.table;
    const legal = this.turn.legal;
    const isOneCoop = legal.some((pick) => pick.includes("*"));
    this.say(isOneCoop ? words.pick_one_turn : words.pick_turn);
    const marks = ["", "", "", ""];
    const confirm = this.addButton(words.confirm_button, null, { primary: true });
    const chosen = () => (isOneCoop ? legal.find((pick) => pick[1 + marks.indexOf("*")] === "*") : `p${marks.join("")}`);
    confirm.disabled = true;
    confirm.addEventListener("click", () => this.pick(chosen(), confirm));
    const mark = (slot, value) => {
      if (isOneCoop) marks.fill("-");
      marks[slot] = value;
      for (const target of this.root.querySelectorAll(".target[data-pick]")) {
        const [itsSlot, itsValue] = target.dataset.pick.split(":");
        target.setAttribute("aria-pressed", String(marks[Number(itsSlot)] === itsValue));
      }
      confirm.disabled = !legal.includes(chosen());
    };
    for (let slot = 0; slot < 4; slot += 1) {
      for (const value of new Set(legal.map((pick) => pick[1 + slot]))) {
        if (value !== "-") this.addPick(slot, value, mark);
      }
    }
  }

  addPick(slot, value, mark) {
    const { words } = this.table;
    const { you } = this.view;
    const face = value === "1" ? "up" : "down";
    const card = cardName(words, this.view[face][you][slot]);
    const isCoop = value === "*";
    const place = isCoop ? this.root.querySelector(`[data-coop="${you}-${slot}"]`) : this.slot(you, face, slot);
    const label = fill(isCoop ? words.act_pick_coop : words.act_pick, { card, slot: slot + 1 });
    const target = this.addTarget(place, label, () => mark(slot, value));
    target.dataset.pick = `${slot}:${value}`;
    target.setAttribute("aria-pressed", "false");
  }

  pick(move) {
    this.keepFocus();
    for (const button of this.root.querySelectorAll(".target, [data-actions] button, [data-actions] input")) {
      button.disabled = true;
      if (button.dataset.move === move) button.setAttribute("aria-busy", "true");
    }
    this.say(this.table.words.sending);
    this.calling = false;
    this.choose(move);
  }
}

// ---- the socket

const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 20000;
const FLOODED = 4008;
const UNKNOWN = 4004;
const UNANSWERED_MS = 8000;
const HURRY_MS = 20000;

/** A moment of the server's as the reader's own clock will show it, which may go wrong. */
function here(moment, now) {
  return new Date(Date.now() + Date.parse(moment) - Date.parse(now)).toISOString();
}

class Connection {
  constructor(root) {
    this.root = root;
    this.table = readTable(root);
    this.choices = new Choices(root, (move) => this.play(move));
    this.seq = 0;
    this.view = null;
    this.turn = null;
    this.pending = null;
    this.sent = null;
    this.batch = [];
    this.retries = 0;
    this.isFinished = false;
    this.title = document.title;
  }

  open() {
    clearTimeout(this.timer);
    const url = new URL(this.root.dataset.socket, location.href);
    url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    this.socket = new WebSocket(url);
    this.socket.addEventListener("message", (message) => this.receive(JSON.parse(message.data)));
    this.socket.addEventListener("close", (event) => this.lose(event.code));
  }

  /** Say that the connection is gone, and try again, each time later. */
  lose(code) {
    if (this.isFinished || !this.root.isConnected) return;
    if (code === UNKNOWN) {
      this.isFinished = true;
      this.say(this.table.words.unknown);
      return;
    }
    const backoff = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** this.retries);
    const wait = code === FLOODED ? LONGEST_RETRY_MS : backoff * (0.75 + Math.random() / 2);
    this.retries += 1;
    if (this.pending) this.pending.isLost = true;
    this.say(fill(this.table.words.lost, { seconds: Math.ceil(wait / 1000) }));
    this.root.dataset.state = "lost";
    this.timer = setTimeout(() => this.open(), wait);
  }

  reopenNow() {
    if (this.isFinished || !this.root.isConnected || this.socket.readyState !== WebSocket.CLOSED) return;
    this.open();
  }

  send(message) {
    if (this.socket.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  say(text) {
    this.root.querySelector("[data-connection]").textContent = text;
  }

  trouble(text) {
    const box = this.root.querySelector("[data-trouble]");
    box.textContent = text;
    box.hidden = !text;
  }

  receive(message) {
    const receivers = {
      snapshot: this.snapshot,
      event: this.event,
      your_turn: this.yourTurn,
      rejected: this.rejected,
      presence: this.presence,
      error: this.error,
      state: this.state,
    };
    receivers[message.type]?.call(this, message);
  }

  snapshot(message) {
    this.retries = 0;
    this.seq = message.seq;
    this.batch = [];
    this.askedFrom = null;
    this.say("");
    if (message.view) this.show(message.view);
    this.setClocks(message);
    this.state(message);
  }

  /** Set people's clocks: one runs, the others stand at what their next move may take. */
  setClocks(message) {
    for (const [seat, clock] of (message.clocks ?? []).entries()) {
      const holder = this.root.querySelector(`[data-clock="${seat}"]`);
      if (!holder) continue;
      const time = holder.querySelector("time");
      holder.hidden = !clock;
      holder.classList.remove("is-short");
      delete time.dataset.countdown;
      if (clock?.deadline) time.dataset.countdown = here(clock.deadline, message.now);
      else if (clock) time.textContent = formatDuration(Math.ceil(clock.move_s + clock.bank_ms / 1000));
    }
  }

  /** Say to the player, once for a turn, that his time is nearly over. */
  hurry(turn) {
    clearTimeout(this.hurrying);
    if (!turn.deadline) return;
    const wait = Date.parse(turn.deadline) - Date.now() - HURRY_MS;
    if (wait < 0) return;
    this.hurrying = setTimeout(() => {
      if (this.turn?.id !== turn.id) return;
      this.root.querySelector(`[data-clock="${this.view.you}"]`)?.classList.add("is-short");
      announce(this.root, fill(this.table.words.hurry, { seconds: HURRY_MS / 1000 }));
    }, wait);
  }

  /** The table itself: the game may be over some moments before its result stands. */
  state(message) {
    this.root.dataset.state = message.state;
    if (message.state === "finished" || message.state === "void") this.finish(message.state);
  }

  /** Take the next happening; a gap is asked for, once, and what was seen before is passed over. */
  event(message) {
    if (message.seq <= this.seq) return;
    if (message.seq > this.seq + 1) {
      if (this.askedFrom !== this.seq) this.send({ type: "since", seq: this.seq });
      this.askedFrom = this.seq;
      return;
    }
    this.seq = message.seq;
    const text = describe(this.table.words, this.table.names, message);
    if (text) this.log(text);
    if (message.event === "hand_end") this.handEnd(text);
    this.batch.push({ message, text });
    if (message.view) this.show(message.view, this.batch.splice(0));
    this.setClocks(message);
    if (message.event === "game_end") this.endTurn();
  }

  show(view, batch = []) {
    this.view = view;
    const moves = batch.filter(({ message }) => message.move);
    const last = moves.at(-1)?.message ?? null;
    const said = batch.map(({ text }) => text).filter(Boolean).join(". ");
    renderView(this.root, view, { event: last, said });
    if (this.pending?.id !== view.decision) this.pending = null;
    if (this.turn && this.turn.id !== view.decision) this.endTurn();
    if (!this.turn) this.choices.say(this.whoMoves(view));
  }

  whoMoves(view) {
    if (view.to_act === null) return this.table.words.finished;
    if (view.to_act === view.you) return "";
    return fill(this.table.words.waiting, { name: this.table.names[view.to_act] });
  }

  yourTurn(message) {
    const isKnown = this.turn?.id === message.id && this.root.classList.contains("is-choosing");
    this.turn = message;
    if (message.deadline) message.deadline = here(message.deadline, message.now);
    this.hurry(message);
    if (this.pending?.id === message.id) {
      if (this.pending.isLost) this.resend();
      return;
    }
    // The server may say it twice; what its reader has begun to choose stays.
    if (isKnown) return;
    document.title = `${this.table.words.your_turn} · ${this.title}`;
    if (this.view) this.choices.offer(message, this.view);
    announce(this.root, this.choices.prompt.textContent);
  }

  endTurn() {
    this.turn = null;
    document.title = this.title;
    this.trouble("");
    this.choices.clear();
  }

  play(move) {
    this.pending = { id: this.turn.id, move };
    this.sent = this.pending;
    this.trouble("");
    this.pending.isLost = !this.send({ type: "move", id: this.turn.id, move });
    const { pending } = this;
    setTimeout(() => {
      if (this.pending === pending && !pending.isLost) this.choices.say(this.table.words.unanswered);
    }, UNANSWERED_MS);
  }

  /** Send a move again that a lost connection may have swallowed; the server takes it once. */
  resend() {
    this.pending.isLost = !this.send({ type: "move", id: this.pending.id, move: this.pending.move });
    if (!this.pending.isLost) this.say(this.table.words.resent);
  }

  /** Say that a move was refused: one that was sent from this page, as its reader may have the table open twice. */
  rejected(message) {
    if (message.id !== this.sent?.id || message.move !== this.sent.move) return;
    if (this.pending?.id === message.id) this.pending = null;
    this.trouble(fill(this.table.words.refused, { detail: message.detail || message.code }));
    if (message.code === "illegal" && this.turn?.id === message.id && this.view) {
      this.choices.offer(this.turn, this.view);
      return;
    }
    this.choices.clear();
    this.turn = null;
    this.send({ type: "since", seq: this.seq });
  }

  presence(message) {
    const place = this.root.querySelector("[data-watching]");
    if (place) place.textContent = fill(this.table.words.watching, { count: message.watching });
  }

  error(message) {
    this.trouble(fill(this.table.words.problem, { detail: message.detail }));
    if (!this.pending || !this.view) return;
    this.pending = null;
    if (this.turn) this.choices.offer(this.turn, this.view);
  }

  log(text) {
    const log = this.root.querySelector("[data-log]");
    if (!log) return;
    const entry = document.createElement("li");
    entry.textContent = text;
    log.prepend(entry);
  }

  handEnd(text) {
    const place = this.root.querySelector("[data-hand-end]");
    if (!place) return;
    place.hidden = false;
    place.querySelector("p").textContent = text;
    place.querySelector("[data-hide]").onclick = () => {
      place.hidden = true;
    };
  }

  finish(state) {
    this.isFinished = true;
    this.endTurn();
    this.choices.say(state === "void" ? this.table.words.void : this.table.words.finished);
    const after = this.root.querySelector("[data-after]");
    if (after) after.hidden = false;
    this.choices.giveFocusBack(after?.querySelector("a"));
    this.root.dispatchEvent(new CustomEvent("finished", { bubbles: true }));
  }
}

/** Keep the table live; returns the connection. Needs `data-socket` on the root. */
export function connectTable(root) {
  if (root.tableConnection) return root.tableConnection;
  const connection = new Connection(root);
  root.tableConnection = connection;
  connection.say(connection.table.words.connecting);
  connection.open();
  addEventListener("online", () => connection.reopenNow());
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") connection.reopenNow();
  });
  setUpResign(connection);
  setUpSeed(connection);
  return connection;
}

/** A button [data-resign]: the first click asks, the second one resigns. */
function setUpResign(connection) {
  const button = document.querySelector("[data-resign]");
  if (!button) return;
  button.hidden = false;
  const label = button.textContent;
  button.addEventListener("click", () => {
    if (button.dataset.isSure) {
      button.setAttribute("aria-busy", "true");
      connection.send({ type: "resign" });
      return;
    }
    button.dataset.isSure = "yes";
    button.textContent = connection.table.words.sure_button;
  });
  button.addEventListener("blur", () => {
    delete button.dataset.isSure;
    button.textContent = label;
  });
}

/** A form [data-seed] with an input named player_seed, sent before the seats are drawn. */
function setUpSeed(connection) {
  const form = document.querySelector("form[data-seed]");
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    connection.send({ type: "seed", player_seed: new FormData(form).get("player_seed") });
  });
}

/** On a phone, arrows that open an opponent's strip to all eight cards. */
export function setUpExpanding(root) {
  const { words, names } = readTable(root);
  for (const button of root.querySelectorAll("[data-expand]")) {
    if (!button.hidden) continue;
    const seat = button.closest("[data-seat]");
    const name = names[Number(seat.dataset.seat)];
    button.hidden = false;
    button.addEventListener("click", () => {
      const isExpanded = seat.classList.toggle("is-expanded");
      button.setAttribute("aria-expanded", String(isExpanded));
      button.setAttribute("aria-label", fill(isExpanded ? words.collapse : words.expand, { name }));
    });
  }
}

for (const root of document.querySelectorAll("[data-table]")) {
  setUpExpanding(root);
  if (root.dataset.socket) connectTable(root);
}
