// The list of groups: sorted and filtered; only the rows that one sees are in the page.

const SPARE = 8;

class List {
  // onChoose(g): a row became the current one; onEnter(g): it was opened
  constructor(groups, onChoose, onEnter) {
    Object.assign(this, { groups, onChoose, onEnter, box: byId("list"), inside: null, place: 0 });
    this.narrow = matchMedia("(max-width: 40rem)");
    this.room = this.box.firstElementChild;
    this.box.addEventListener("scroll", () => this.draw(false), { passive: true });
    this.rows = new Map();
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.box.addEventListener("click", (event) => this.press(event, onChoose));
    this.box.addEventListener("dblclick", (event) => this.press(event, onEnter));
    this.box.addEventListener("focus", () => this.shown.length && onChoose(this.shown[this.place]));
    this.narrow.addEventListener("change", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.box);
    const whom = groups.sets > 1 ? "the class" : speaksFor(groups);
    const sorts = [
      ...(groups.fitted ? [["size", "largest coefficient"],
        ["clear", "interval farthest from 0"],
        ["plus", groups.classes.length ? `most for ${whom}` : "most added"],
        ["minus", groups.classes.length ? `most against ${whom}` : "most taken away"],
      ] : []),
      ["cases", "most training cases"],
      ["patterns", "most patterns"],
    ];
    for (const [value, words] of sorts) byId("sort").append(element("option", { value }, words));
    byId("sort").addEventListener("change", () => this.sort());
    if (!groups.sequences) this.offerFeatures();
    this.sort();
  }

  press(event, then) {
    const row = event.target.closest("[data-place]");
    if (!row) return;
    this.choose(Number(row.dataset.place));
    then(this.shown[this.place]);
  }

  // ---- which groups, in which order ----

  offerFeatures() {
    const { groups } = this, feature = byId("feature"), value = byId("value");
    groups.features.forEach((name, t) => {
      feature.append(element("option", { value: t }, visible(name)));
    });
    feature.addEventListener("change", () => {
      const values = feature.value === "" ? [] : groups.values[feature.value];
      value.replaceChildren(element("option", { value: "" }, "any value"));
      values.forEach((name, v) => value.append(element("option", { value: v }, visible(name))));
      value.disabled = feature.value === "";
      this.sort();
    });
    value.addEventListener("change", () => this.sort());
  }

  // Whether groups are shown, as a function of a group.
  filter() {
    const { groups } = this;
    if (groups.sequences) {
      if (this.inside === null || this.inside === groups.root) return () => true;
      const below = new Uint8Array(groups.count);
      for (let g = 0; g < groups.count; g++) { // a group stands after the one above it
        const above = groups.above[g];
        below[g] = g === this.inside || (above >= 0 && below[above]) ? 1 : 0;
      }
      return (g) => below[g] === 1;
    }
    const t = byId("feature").value, v = byId("value").value;
    if (t === "") return () => true;
    const from = groups.offset[t] + Number(v);
    const to = v === "" ? groups.offset[Number(t) + 1] : from + 1;
    return (g) => groups.hasItem(g, from, to);
  }

  // All groups in the order asked for; it is kept until another one is asked for.
  sorted() {
    const { groups } = this, by = byId("sort").value, asked = `${by} ${groups.set}`;
    if (this.asked !== asked) {
      const key = Float64Array.from(groups.cases, (_, g) => this.sortKey(by, g));
      this.order = Uint32Array.from(groups.cases.keys()).sort((a, b) => key[b] - key[a] || a - b);
      this.asked = asked;
    }
    return this.order;
  }

  sort() {
    const { groups } = this;
    this.shown = this.sorted().filter(this.filter());
    this.place = 0;
    this.box.scrollTop = 0;
    const of = this.shown.length < groups.allGroups ? ` of ${count(groups.allGroups)}` : "";
    byId("count").textContent = `${count(this.shown.length)}${of} groups`;
    this.draw();
  }

  sortKey(by, g) {
    const { groups } = this;
    if (by === "cases" || by === "patterns") return groups[by][g];
    const middle = groups.at(1, g);
    if (by === "size") return Math.abs(middle);
    if (by === "clear") return Math.max(groups.at(0, g), -groups.at(2, g));
    return by === "plus" ? middle : -middle;
  }

  // ---- what one sees ----

  get height() {
    return this.narrow.matches ? 62 : 40;
  }

  // Draws the rows that one sees; those that are there stay, unless all have to be drawn anew.
  draw(anew = true) {
    const { box, height, rows } = this;
    this.room.style.height = `${this.shown.length * height}px`;
    const from = Math.max(0, Math.floor(box.scrollTop / height) - SPARE);
    const to = Math.min(
      this.shown.length, Math.ceil((box.scrollTop + box.clientHeight) / height) + SPARE);
    for (const [place, row] of rows) {
      if (anew || place < from || place >= to) {
        row.remove();
        rows.delete(place);
      }
    }
    for (let place = to - 1; place >= from; place--) { // from below: the next one is there
      if (rows.has(place)) continue;
      rows.set(place, this.row(place));
      this.room.insertBefore(rows.get(place), rows.get(place + 1) ?? null);
    }
    if (this.place >= from && this.place < to) {
      box.setAttribute("aria-activedescendant", `row-${this.place}`);
    } else box.removeAttribute("aria-activedescendant");
  }

  row(place) {
    const { groups } = this, g = this.shown[place];
    const row = element("div", {
      class: "row", role: "option", id: `row-${place}`, "data-place": place,
      "aria-selected": String(place === this.place), "aria-posinset": place + 1,
      "aria-setsize": this.shown.length,
    });
    row.style.top = `${place * this.height}px`;
    row.style.height = `${this.height}px`;
    row.append(element("span", { class: "pattern" }, groups.name(g)));
    if (groups.fitted) {
      const said = effect(groups, g);
      row.append(interval(groups, g), element("span", { class: "effect" }, said.middle, " ",
        element("small", {}, said.range)));
    }
    row.append(element("span", { class: "cases" }, count(groups.cases[g]), " ",
      element("small", {}, groups.cases[g] === 1 ? "case" : "cases")));
    return row;
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.box.clientHeight / this.height) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page,
      Home: -this.shown.length, End: this.shown.length };
    if (event.key in steps) this.choose(this.place + steps[event.key]);
    else if (event.key === "Enter") this.onEnter(this.shown[this.place]);
    else return;
    event.preventDefault();
    if (event.key !== "Enter") this.onChoose(this.shown[this.place]);
  }

  choose(place) {
    const { box, height } = this;
    if (!this.shown.length) return;
    this.place = Math.min(Math.max(place, 0), this.shown.length - 1);
    const top = this.place * height;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + height > box.scrollTop + box.clientHeight) {
      box.scrollTop = top + height - box.clientHeight;
    }
    this.draw();
  }
}
