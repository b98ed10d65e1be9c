// One test case: which groups speak for which class, and by how much.

const FEW = 20;

class Cases {
  constructor(groups, onPoint) {
    Object.assign(this, { groups, onPoint, chosen: byId("chosen"), box: byId("parts") });
    const kinds = [["Predicted worst", true], ["Spread over all others", false]];
    for (const [label, worst] of kinds) {
      const options = groups.tests.map((one, t) => [one, t]).filter(([one]) => one.worst === worst)
        .map(([one, t]) => element("option", { value: t }, `${one.name}: ${visible(one.truth)}`));
      if (options.length) this.chosen.append(element("optgroup", { label }, ...options));
    }
    this.begin = begins(groups.tests.map((one) => one.cited));
    this.chosen.addEventListener("change", () => this.draw());
    this.draw();
  }

  // Mean (0), low end (1) or high end (2) of what the entry of a case adds to the class shown.
  added(level, t, entry) {
    const { groups } = this, many = groups.tests[t].cited;
    const start = 3 * groups.sets * this.begin[t];
    return groups.testAdded[start + (level * groups.sets + groups.set) * many + entry];
  }

  whole(array, t) {
    const { sets, set } = this.groups;
    return [0, 1, 2].map((level) => array[(t * 3 + level) * sets + set]);
  }

  draw(all = false) {
    const { groups } = this, t = Number(this.chosen.value), one = groups.tests[t];
    const rows = [];
    for (let entry = 0; entry < one.cited; entry++) {
      rows.push({
        g: groups.testGroups[this.begin[t] + entry],
        share: groups.testShare[this.begin[t] + entry],
        values: [0, 1, 2].map((level) => this.added(level, t, entry)),
      });
    }
    rows.sort((a, b) => Math.abs(b.values[0]) - Math.abs(a.values[0]));
    const few = all === true ? rows : rows.slice(0, FEW);
    const total = this.whole(groups.testTotal, t), others = this.whole(groups.testOthers, t);
    const sizes = [...rows.map((row) => row.values[0]), others[0], total[0]].map(Math.abs);
    const widest = Math.max(...sizes, 1e-9);
    const shown = few.map((row) => this.row(row, widest));
    if (few.length < rows.length) {
      const left = rows.slice(FEW);
      const sum = left.reduce((before, row) => before + row.values[0], 0);
      const more = element("button", { type: "button", onclick: () => this.draw(true) },
        `Show ${several(left.length, "more group")}`);
      shown.push(this.line(more, sum, null, widest));
    }
    if (one.others) {
      shown.push(this.line(`${several(one.others, "other group")}`, others[0], others, widest));
    }
    if (groups.base) shown.push(this.line("mean of the training cases", groups.base, null, 0));
    const whole = total.map((value) => value + groups.base);
    const sum = this.line("together", whole[0], whole, groups.base ? 0 : widest);
    sum.classList.add("sum");
    this.box.replaceChildren(...shown, sum);
    this.tell(one);
  }

  tell(one) {
    const { groups } = this;
    const what = groups.sequences
      ? ["its last states", (one.values.length >= 60 ? "…" : "") + groups.written(one.values)]
      : ["its values", one.values.map((v, t) => (v < 0 ? `${visible(groups.features[t])} unknown`
        : `${visible(groups.features[t])}=${visible(groups.values[t][v])}`)).join(", ")];
    const rows = [["it is", visible(one.truth)], ["predicted", one.predicted], what];
    byId("told").replaceChildren(...rows.map(([term, value]) =>
      element("div", {}, element("dt", {}, term), element("dd", {}, value))));
  }

  row({ g, share, values }, widest) {
    const name = element("button", {
      type: "button", class: "cited", onclick: () => this.onPoint(g, true),
      onfocus: () => this.onPoint(g, false), onpointerenter: () => this.onPoint(g, false),
    }, this.groups.name(g));
    const part = share < 0.9995
      ? [" ", element("small", {}, `${Math.round(100 * share)} % of it`)] : [];
    return this.line(element("span", {}, name, ...part), values[0], values, widest);
  }

  // A value with its interval, and a bar if one says how wide the widest is.
  line(name, value, values, widest) {
    const bar = element("i", { class: value < 0 ? "minus" : "plus" });
    const size = widest ? Math.min(50, (50 * Math.abs(value)) / widest) : 0;
    bar.style.width = `${size}%`;
    bar.style.left = `${value < 0 ? 50 - size : 50}%`;
    const range = values ? [" ", element("small", {}, `${number(values[1])} to ${number(values[2])}`)]
      : [];
    return element("li", {}, element("span", { class: "pattern" }, name),
      element("span", { class: "bar", "aria-hidden": "true" }, bar),
      element("span", { class: "effect" }, number(value, true), ...range));
  }
}
