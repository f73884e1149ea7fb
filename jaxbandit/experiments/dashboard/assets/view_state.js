// The state of the view: what is chosen, by name, as text. In a file it is kept in the hash of the address.

const view = {
  defaults: {},
  chosen: {},
  accepts: {}, // by name, a function that says whether a value may be chosen
  redraw: () => {},

  // Declare a choice: its default, and the values that it may take.
  declare(name, initial, accepts = () => true) {
    this.defaults[name] = String(initial);
    this.accepts[name] = Array.isArray(accepts) ? value => accepts.includes(value) : accepts;
  },

  get(name) {
    return this.chosen[name] ?? this.defaults[name];
  },

  isOn(name) {
    return this.get(name) === "1";
  },

  // Whole numbers of a choice such as "0.2.5".
  list(name) {
    return this.get(name) === "" ? [] : this.get(name).split(".").map(Number);
  },

  // Choose values, keep them in the address, and draw again; controls are made anew unless the user is moving one.
  choose(changes, remakeControls = true) {
    for (const [name, value] of Object.entries(changes)) this.chosen[name] = String(value);
    this.write();
    this.redraw(remakeControls);
  },

  hash() {
    const kept = new URLSearchParams();
    for (const [name, value] of Object.entries(this.chosen)) if (value !== this.defaults[name]) kept.set(name, value);
    return kept.toString();
  },

  // A frame in a notebook has no address of its own.
  inFile: window.location.protocol !== "about:",

  write() {
    if (!this.inFile) return;
    const hash = this.hash();
    window.history.replaceState(null, "", hash ? `#${hash}` : window.location.pathname + window.location.search);
  },

  // Read the address; unknown names and values are left out.
  read() {
    this.chosen = {};
    if (!this.inFile) return;
    for (const [name, value] of new URLSearchParams(window.location.hash.slice(1))) {
      if (name in this.defaults && this.accepts[name](value)) this.chosen[name] = value;
    }
  },
};

// Whether a text is a list such as "0.2.5" of whole numbers below a limit.
const isListBelow = limit => text => text === "" || text.split(".").every(one => /^\d+$/.test(one) && Number(one) < limit);
const isNumberBelow = limit => text => /^\d+$/.test(text) && Number(text) < limit;
