// Numbers and groups in words, and the elements that show them.

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") made.className = value;
    else if (name.includes("-") || name === "role" || name === "for") made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children);
  return made;
}

const byId = (id) => document.getElementById(id);
const count = (n) => (n < 1e15 ? n.toLocaleString("en") : n.toPrecision(3));
const several = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
const visible = (name) => (name.trim() === "" ? "␣".repeat(name.length || 1) : name);

function number(x, sign = false) {
  const size = Math.abs(x);
  const text = size >= 1e4 ? size.toExponential(1).replace("+", "") : size >= 100 ? size.toFixed(0)
    : size >= 10 ? size.toFixed(1) : size >= 0.01 || size === 0 ? size.toFixed(2)
      : size.toPrecision(1);
  return (x < 0 ? "−" : sign ? "+" : "") + text;
}

// exp(x), as a factor of odds.
function factor(x) {
  const power = x / Math.LN10, f = Math.exp(x);
  if (power > 4 || power < -3) { // it may be larger than any number of a computer
    const digits = (10 ** (power - Math.floor(power))).toFixed(1);
    const [lead, whole] = digits === "10.0" ? ["1.0", Math.ceil(power)] : [digits, Math.floor(power)];
    return `${lead}e${whole < 0 ? "−" : ""}${Math.abs(whole)}`;
  }
  return f >= 100 ? f.toFixed(0) : f.toPrecision(f < 1 ? 2 : 3);
}

// What a coefficient does: the words before it, the middle and the interval.
function effect(groups, g) {
  const [low, middle, high] = [0, 1, 2].map((level) => groups.at(level, g));
  if (!groups.classes.length) {
    return { middle: number(middle, true), range: `${number(low)} to ${number(high)}` };
  }
  return { middle: `× ${factor(middle)}`, range: `${factor(low)} to ${factor(high)}` };
}

function speaksFor(groups) {
  const shown = groups.classes.length === 2 ? 1 : groups.set;
  return groups.classes.length ? visible(groups.classes[shown]) : groups.response;
}

// From -1 to 1, by the size of a coefficient; half way at the scale of the page.
const strength = (groups, x) => x / (Math.abs(x) + groups.scale / 2);

function colour(groups, g) {
  if (!groups.fitted) return "var(--plain)";
  const t = strength(groups, groups.at(1, g));
  const share = Math.round(100 * Math.abs(t));
  return `color-mix(in srgb, var(${t < 0 ? "--minus" : "--plus"}) ${share}%, var(--zero))`;
}

// A group as a screen reader says it, and as a title.
function spoken(groups, g) {
  const said = `${groups.name(g)}: ${several(groups.cases[g], "training case")}`;
  if (!groups.fitted) return said;
  const ends = `90 % from ${number(groups.at(0, g))} to ${number(groups.at(2, g))}`;
  return `${said}, coefficient ${number(groups.at(1, g))}, ${ends}`;
}

// ---- what is said of one group ----

function describe(groups, g) {
  const rows = [];
  const [longest, shortest] = [groups.text(g), groups.text(g, true)];
  const orders = groups.first[g] === groups.last[g] ? `order ${groups.first[g]}`
    : `orders ${groups.first[g]} to ${groups.last[g]}`;
  rows.push(["patterns", `${count(groups.patterns[g])} (${orders})`]);
  if (longest !== shortest) {
    rows.push(["shortest", shortest]);
    const more = !groups.sequences && groups.sharesMore(g);
    rows.push([more ? "its cases share" : "longest", longest]);
  }
  rows.push(["training cases", `${count(groups.cases[g])} of ${count(groups.trainCases)}`]);
  if (groups.fitted) {
    const said = effect(groups, g);
    const ends = `${number(groups.at(0, g))} to ${number(groups.at(2, g))}`;
    rows.push(["coefficient", `${number(groups.at(1, g))} (${ends})`]);
    if (groups.classes.length) {
      const against = groups.classes.length > 2 ? " against the others" : "";
      rows.push([`odds of ${speaksFor(groups)}${against}`, `${said.middle} (${said.range})`]);
    }
  }
  const list = element("dl");
  for (const [term, value] of rows) {
    list.append(element("div", {}, element("dt", {}, term), element("dd", {}, value)));
  }
  const parts = [element("h3", {}, groups.name(g)), list];
  if (groups.fitted) parts.splice(1, 0, interval(groups, g));
  return parts;
}

// The interval of a coefficient as a line with a dot; 0 is in the middle.
function interval(groups, g) {
  const unit = groups.scale / 4;
  const place = (x) => 50 + 49 * Math.sign(x) *
    Math.min(1, Math.asinh(Math.abs(x) / unit) / Math.asinh(groups.farthest / unit));
  const [low, middle, high] = [0, 1, 2].map((level) => place(groups.at(level, g)));
  const line = element("i", { class: "line" });
  line.style.left = `${low}%`;
  line.style.width = `${high - low}%`;
  const dot = element("i", { class: "dot" });
  dot.style.left = `${middle}%`;
  dot.style.background = colour(groups, g);
  return element("span", { class: "interval", "aria-hidden": "true" }, line, dot);
}
