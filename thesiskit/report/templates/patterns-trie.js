// The trie of a sequence model: each block is a group, as wide as its cases are many; the blocks
// below it are longer patterns, which go further back in time.

const LEVELS = 9, ROW = 34, NARROWEST = 5;

class Trie {
  // onOpen(g): a group was opened; onPoint(g): one was pointed at, or no longer (null)
  constructor(groups, onOpen, onPoint) {
    Object.assign(this, { groups, onOpen, onPoint, box: byId("blocks"), typed: byId("typed") });
    this.typed.addEventListener("input", () => this.type());
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.box.addEventListener("click", (event) => {
      const g = this.under(event);
      if (g !== null) this.open(g);
    });
    this.box.addEventListener("pointerover", (event) => onPoint(this.under(event)));
    this.box.addEventListener("pointerleave", () => onPoint(null));
    this.box.addEventListener("focus", () => onPoint(this.active));
    new ResizeObserver(() => this.draw()).observe(this.box);
    this.focus = this.active = groups.root;
  }

  under(event) {
    const block = event.target.closest("[data-group]");
    return block ? Number(block.dataset.group) : null;
  }

  // Opens the path of the states that were typed.
  type() {
    const text = this.typed.value;
    const { groups } = this;
    const symbols = groups.single ? Array.from(text) : text.trim().split(/\s+/).filter(Boolean);
    const codes = symbols.map((one) => groups.states.indexOf(one));
    const unknown = codes.indexOf(-1);
    if (unknown >= 0) {
      this.say(`There is no state “${symbols[unknown]}”. States: ${
        groups.states.slice(0, 30).map(visible).join(" ")}${groups.states.length > 30 ? " …" : ""}`);
      return;
    }
    const { g, found } = groups.find(codes);
    if (found === codes.length) {
      this.say(codes.length ? `${several(groups.cases[g], "training case")}.` : "");
    } else if (groups.cut[g]) {
      this.say(`The page shows only the ${found} last states of this.`);
    } else if (codes.length > groups.order) {
      this.say(`The model has patterns of at most ${several(groups.order, "state")}.`);
    } else {
      const longest = groups.written(codes.slice(codes.length - found).reverse());
      this.say(found
        ? `No training case on this page ends so; the longest ending that there is: ${longest}`
        : "No training case on this page ends so.");
    }
    this.open(g, false);
  }

  say(text) {
    byId("typed-says").textContent = text;
  }

  open(g, write = true) {
    this.focus = this.active = g;
    if (write) {
      const states = this.groups.codes(g).reverse().map((code) => this.groups.states[code]);
      this.typed.value = states.join(this.groups.single ? "" : " ");
      this.say("");
    }
    this.draw();
    this.onOpen(g);
  }

  key(event) {
    const { groups } = this, block = this.blocks.get(this.active);
    const near = { ArrowRight: block?.next, ArrowLeft: block?.before, ArrowDown: block?.child };
    if (event.key in near) this.point(near[event.key]);
    else if (event.key === "ArrowUp" || event.key === "Backspace") {
      const above = groups.above[this.active];
      if (above >= 0 && this.active === this.focus) this.open(above);
      else if (above >= 0) this.point(above);
    } else if (event.key === "Enter" || event.key === " ") this.open(this.active);
    else if (event.key === "Home" || event.key === "Escape") this.open(groups.root);
    else return;
    event.preventDefault();
  }

  point(g) {
    if (g === undefined) return;
    this.blocks.get(this.active)?.node.setAttribute("aria-selected", "false");
    this.active = g;
    this.blocks.get(g)?.node.setAttribute("aria-selected", "true");
    this.box.setAttribute("aria-activedescendant", `block-${g}`);
    this.onPoint(g);
  }

  draw() {
    const { groups, focus } = this, width = this.box.clientWidth;
    if (!width) return;
    this.blocks = new Map();
    const made = document.createDocumentFragment();
    const depth = groups.path(focus).length;
    let rows = [[focus, 0, width]];
    this.deepest = 0;
    for (let level = 0; rows.length && level < LEVELS; level++) {
      const lower = [];
      this.deepest = Math.max(this.deepest, level);
      for (const [g, x, w] of rows) {
        made.append(this.block(g, x, w, level, depth + level));
        if (level + 1 < LEVELS) this.divide(g, x, w, level + 1, lower, made);
      }
      rows = lower;
    }
    this.box.style.height = `${(this.deepest + 1) * ROW}px`;
    this.box.replaceChildren(made);
    if (!this.blocks.has(this.active)) this.active = focus;
    this.box.setAttribute("aria-activedescendant", `block-${this.active}`);
    this.drawPath();
  }

  // Places the blocks below a group; those that are too narrow to see become one.
  divide(g, x, w, level, lower, made) {
    const { groups } = this, below = groups.below(g);
    let before;
    for (let i = 0; i < below.length; i++) {
      const child = below[i], wide = (w * groups.cases[child]) / groups.cases[g];
      if (wide < NARROWEST) {
        let cases = 0;
        for (let j = i; j < below.length; j++) cases += groups.cases[below[j]];
        const rest = element("div", { class: "rest", "aria-hidden": "true",
          title: `${several(below.length - i, "more group")}; open the group above to see them` });
        this.place(rest, x, (w * cases) / groups.cases[g], level);
        made.append(rest);
        this.deepest = Math.max(this.deepest, level);
        return;
      }
      lower.push([child, x, wide]);
      this.blocks.set(child, { before });
      if (before === undefined) this.blocks.get(g).child = child;
      else this.blocks.get(before).next = child;
      before = child;
      x += wide;
    }
  }

  place(node, x, width, level) {
    node.style.left = `${x}px`;
    node.style.top = `${level * ROW}px`;
    node.style.width = `${Math.max(1, width - 1)}px`;
  }

  block(g, x, width, level, depth) {
    const { groups } = this;
    const node = element("div", {
      class: "block", role: "treeitem", id: `block-${g}`, "aria-level": depth, "data-group": g,
      "aria-selected": String(g === this.active), "aria-label": spoken(groups, g),
    });
    if (groups.below(g).length) node.setAttribute("aria-expanded", String(level + 1 < LEVELS));
    this.place(node, x, width, level);
    node.style.background = colour(groups, g);
    if (width < 90) node.classList.add("short");
    if (width > 16) node.textContent = level ? groups.written(groups.edge(g)) : groups.text(g);
    this.blocks.set(g, { ...this.blocks.get(g), node });
    return node;
  }

  drawPath() {
    const { groups, focus } = this;
    const parts = groups.path(focus).map((g) => {
      const here = g === focus;
      const name = g === groups.root && !groups.edge(g).length ? "any" : groups.text(g);
      const button = element("button", { type: "button", onclick: () => this.open(g) }, name);
      if (here) button.setAttribute("aria-current", "true");
      return element("li", {}, button);
    });
    byId("path").replaceChildren(...parts);
  }
}
