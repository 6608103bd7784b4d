// Recomputes every shuffle of a finished match from its record, in the reader's own browser: the commitment, the draw
// for the deal, every deck and every reshuffle. It follows the cards, as a reshuffle is one of the discards as they
// lie, and takes on trust that the moves were legal and the totals right. What differs is thrown as Unfair.

const SCHEME = "soureh-shuffle/1";
const RANKS = "A23456789T"; // low to high
const SORTED_PACK = [..."shdc"].flatMap((suit) => [...RANKS].map((rank) => rank + suit));
const SORTED_DECK = [...SORTED_PACK, ...SORTED_PACK];
const WORDS = 2 ** 32;
const BLOCKS = 10; // asked for at once: as many as a deck and its cut take
const MOVE = /^(?:k(?<kept>[0-3])|s(?<other>[0-3])(?<slot>[0-3])|d)!?$/;
const NO_CARD_MOVES = /^(?:show|go|p[01*-]{4})$/;

/** Something differs: `what` names the sentence, `values` fill its gaps. */
export class Unfair extends Error {
  constructor(what, values) {
    super(`${what} ${JSON.stringify(values)}`);
    this.what = what;
    this.values = values;
  }
}

/** What was fetched is no record. */
export class NoRecord extends Error {}

// ---- the fair shuffle

const ascii = (text) => new TextEncoder().encode(text);
const hex = (bytes) => Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
const fromHex = (text) => Uint8Array.from(text.match(/../g), (pair) => Number.parseInt(pair, 16));

function hmacKey(bytes) {
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
}

/** The random integers of one label: HMAC-SHA256(key, "label:0"), "label:1", …, four bytes each, big-endian. */
class Stream {
  constructor(key, label) {
    this.key = key;
    this.label = label;
    this.block = 0;
    this.words = [];
  }

  async nextWord() {
    if (!this.words.length) {
      const numbers = Array.from({ length: BLOCKS }, (_, index) => this.block + index);
      const sign = (number) => crypto.subtle.sign("HMAC", this.key, ascii(`${this.label}:${number}`));
      for (const block of await Promise.all(numbers.map(sign))) {
        const bytes = new DataView(block);
        for (let at = 0; at < bytes.byteLength; at += 4) this.words.push(bytes.getUint32(at));
      }
      this.block += BLOCKS;
    }
    return this.words.shift();
  }

  /** The next integer below m. Words from the last, incomplete run of m are skipped: no bias. */
  async below(m) {
    for (;;) {
      const word = await this.nextWord();
      if (word < WORDS - (WORDS % m)) return word % m;
    }
  }

  /** The cards in a new order, by Fisher–Yates from the back. */
  async shuffled(cards) {
    const deck = [...cards];
    for (let i = deck.length - 1; i > 0; i -= 1) {
      const j = await this.below(i + 1);
      [deck[i], deck[j]] = [deck[j], deck[i]];
    }
    return deck;
  }
}

async function dealtDeck(key, hand) {
  const stream = new Stream(key, `deal/${hand}`);
  const deck = await stream.shuffled(SORTED_DECK);
  const cut = await stream.below(deck.length);
  return [...deck.slice(cut), ...deck.slice(0, cut)];
}

/** The rounds of the draw for the deal, each a Map of entrant to card, and the entrants in the order of their seats. */
async function drawForTheDeal(key, players) {
  const deck = await new Stream(key, "seats").shuffled(SORTED_DECK);
  const lies = new Map(); // entrant to his present card
  const rank = (entrant) => RANKS.indexOf(lies.get(entrant)[0]);
  const rounds = [];
  const entrants = Array.from({ length: players }, (_, entrant) => entrant);
  let drawing = entrants;
  while (drawing.length) {
    const drawn = new Map(drawing.map((entrant) => [entrant, deck.shift()]));
    rounds.push(drawn);
    for (const [entrant, card] of drawn) lies.set(entrant, card);
    drawing = entrants.filter((one) => entrants.some((other) => other !== one && rank(other) === rank(one)));
  }
  return { rounds, order: [...entrants].sort((one, other) => rank(one) - rank(other)) };
}

// ---- reading what a stranger may have written

const isText = (value) => typeof value === "string";
const isNumber = (value) => Number.isSafeInteger(value);
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isListOf = (isItem) => (value) => Array.isArray(value) && value.every(isItem);
const isList = isListOf(() => true);
const isHex = (value) => isText(value) && /^[0-9a-f]{64}$/.test(value);
const isSeed = (value) => isText(value) && /^[ -~]{0,64}$/.test(value);

function get(doc, key, isRight) {
  if (!isRight(doc[key])) throw new NoRecord(`expected another kind of value: ${key}`);
  return doc[key];
}

/** Anything as a short text; null stays null. */
function brief(value) {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value) || typeof value === "object") return "[…]";
  return String(value).slice(0, 80);
}

function same(what, expected, found, values = {}) {
  if (expected !== found) throw new Unfair(what, { ...values, expected: brief(expected), found: brief(found) });
}

function sameCards(what, expected, found, values) {
  for (const [index, card] of expected.entries()) same(what, card, found[index], { ...values, card: index + 1 });
  same(`${what}_size`, expected.length, found.length, values);
}

// ---- one match

/**
 * Recompute a record; `commitment` is the one that was published. Calls `tell` with each thing done:
 * {step: "commitment", value}, {step: "key", value, seeds}, {step: "seats", rounds, names}, where names are in order
 * of entry and no rounds mean that nothing was drawn, and {step: "hand", no, of, deck, reshuffles}.
 */
export async function recompute(record, commitment, tell) {
  if (!isObject(record)) throw new NoRecord("expected an object");
  const fairness = get(record, "fairness", isObject);
  get(fairness, "scheme", (scheme) => scheme === SCHEME);
  const seed = fromHex(get(fairness, "server_seed", isHex));
  const seats = get(record, "seats", isListOf(isObject));
  const hands = get(record, "hands", isListOf(isObject));
  const seeds = get(fairness, "player_seeds", isListOf(isSeed));
  if (seats.length < 2 || seats.length > 4 || seeds.length !== seats.length || !hands.length) {
    throw new NoRecord("expected 2 to 4 seats, their seeds, and a hand");
  }

  const digest = hex(await crypto.subtle.digest("SHA-256", seed));
  same("commitment", digest, get(fairness, "commitment", isText));
  same("published", digest, commitment);
  tell({ step: "commitment", value: digest });
  const keyBytes = await crypto.subtle.sign("HMAC", await hmacKey(seed), ascii(seeds.join("\n")));
  tell({ step: "key", value: hex(keyBytes), seeds });
  const key = await hmacKey(keyBytes);
  tell({ step: "seats", ...(await checkSeats(record, key)) });

  let playing = seats.map((_, seat) => seat);
  let dealer = 0;
  for (const [index, hand] of hands.entries()) {
    const no = index + 1;
    same("number", no, hand.no, { hand: no });
    // Too few are left to deal to: this hand can only be made up.
    if (playing.length < 2) throw new Unfair("over", { hand: no });
    same("dealer", dealer, hand.dealer, { hand: no });
    tell({ step: "hand", no, of: hands.length, ...(await checkHand(hand, no, key, playing, dealer)) });
    playing = stillPlaying(record, hand, playing);
    // The deal passes one seat clockwise, over eliminated players.
    dealer = playing.find((seat) => seat > dealer) ?? playing[0];
  }
}

async function checkSeats(record, key) {
  const seating = get(record, "seating", isObject);
  if (seating.how === "fixed") return { rounds: [], names: [] };
  const { rounds, order } = await drawForTheDeal(key, record.seats.length);
  const found = get(seating, "rounds", isListOf(isObject));
  for (const [index, drawn] of rounds.entries()) {
    const recorded = found[index] ?? {};
    const entrants = new Set([...Array.from(drawn.keys(), String), ...Object.keys(recorded)]);
    for (const entrant of [...entrants].sort()) {
      const place = { round: index + 1, entrant: brief(entrant) };
      same("draw", drawn.get(Number(entrant)), recorded[entrant], place);
    }
  }
  same("rounds", rounds.length, found.length);
  for (const [seat, entrant] of order.entries()) {
    same("seat", entrant, record.seats[seat].entrant, { seat });
  }
  return { rounds, names: namesByEntry(record, order) };
}

/** The players' names in order of entry; `order[seat]` is the entrant. */
function namesByEntry(record, order) {
  return order.map((_, entrant) => brief(record.seats[order.indexOf(entrant)].name));
}

/** Recompute a hand's deck and follow its cards, for the sake of the reshuffles. */
async function checkHand(hand, no, key, playing, dealer) {
  const moves = get(hand, "moves", isListOf(isText));
  const recorded = get(hand, "reshuffles", isListOf(isList));
  const deck = await dealtDeck(key, no);
  sameCards("deck", deck, get(hand, "deck", isList), { hand: no });

  // From the dealer's left on, each gets eight cards in a row: four face-down, then four face-up.
  const order = [...playing.filter((seat) => seat > dealer), ...playing.filter((seat) => seat <= dealer)];
  const down = new Map(order.map((seat, number) => [seat, deck.slice(8 * number, 8 * number + 4)]));
  const up = new Map(order.map((seat, number) => [seat, deck.slice(8 * number + 4, 8 * number + 8)]));
  let stock = deck.slice(8 * order.length);
  let discards = [];
  let turns = 0;
  const reshuffles = [];

  const reshuffle = async (move) => {
    const number = reshuffles.length + 1;
    if (number > recorded.length) throw new Unfair("no_reshuffle", { hand: no, move, number });
    const made = await new Stream(key, `reshuffle/${no}/${number}`).shuffled(discards);
    sameCards("reshuffle", made, recorded[number - 1], { hand: no, number });
    reshuffles.push(made);
    stock = [...made];
    discards = [];
  };

  for (const [index, text] of moves.entries()) {
    const move = index + 1;
    if (NO_CARD_MOVES.test(text)) continue;
    const parts = MOVE.exec(text)?.groups;
    if (!parts) throw new Unfair("no_move", { hand: no, move, found: brief(text) });
    if (!stock.length) await reshuffle(move);
    const seat = order[turns % order.length];
    turns += 1;
    const drawn = stock.shift();
    if (parts.kept) discards.push(replace(down.get(seat), Number(parts.kept), drawn));
    else if (parts.other) {
      const other = Number(parts.other);
      if (other === seat || !up.has(other)) throw new Unfair("no_swap", { hand: no, move, found: brief(text) });
      discards.push(replace(up.get(other), Number(parts.slot), drawn));
    } else discards.push(drawn);
  }
  // A hand that a fault stopped may have had a new stock that nobody played from.
  const wasStopped = get(hand, "end", isObject).how === "stopped";
  if (!stock.length && wasStopped && reshuffles.length < recorded.length) await reshuffle(moves.length);
  same("reshuffles", reshuffles.length, recorded.length, { hand: no });
  return { deck, reshuffles };
}

/** Put a card into a slot and return the one that lay there. */
function replace(cards, slot, card) {
  const [replaced] = cards.splice(slot, 1, card);
  return replaced;
}

/** Who plays on: in a game by elimination nobody whose recorded total has reached the target. */
function stillPlaying(record, hand, playing) {
  const rules = get(record, "rules", isObject);
  const end = get(hand, "end", isObject);
  if (rules.end !== "elimination" || end.how === "stopped") return playing;
  const totals = get(end, "totals", isListOf(isNumber));
  const target = get(rules, "target", isNumber);
  if (totals.length !== record.seats.length) throw new NoRecord("expected a total for each seat");
  return playing.filter((seat) => totals[seat] < target);
}
