// Figures: values under the pointer, series that switch by the legend, and panels that zoom.
(() => {
  "use strict";
  const {make, say, tip} = window.thesiskit, byId = id => document.getElementById(id);
  const NEAR = 12, STEP = 1.5;  // units around a point; times that a zoom enlarges
  const set = (element, values) => {
    Object.entries(values).forEach(([name, value]) => element.setAttribute(name, value));
    return element;
  };
  const short = value => String(Number(value.toPrecision(4))).replace("-", "−");

  class Axis {  // from values to places in the picture, which a zoom moves
    constructor(data, from, to, [low, high] = data.ends) {
      Object.assign(this, data, {from, to, low, high, each: (to - from) / (high - low), made: [], times: 1, shift: 0});
    }
    moved(place) { return this.times * place + this.shift; }
    place(value, size = Math.abs(value / this.symlog)) {  // a symmetric log scale is linear up to size 1
      const scaled = this.log ? Math.log(value) : size > 1 ? value / size * (1 + 0.9 * Math.log10(size)) : value;
      return this.moved(this.from + (scaled - this.low) * this.each);
    }
    reach(start = null, end = start) {  // places of a value or a range; null is all that is seen
      return (start === null ? [this.from, this.to] : [this.place(start), this.place(end)]).sort((a, b) => a - b);
    }
    away(place, ...ends) { return this.reach(...ends).reduce((low, high) => Math.max(0, low - place, place - high)); }
    show(...places) {  // what is seen between two places fills the panel
      const [start, end] = places.sort((a, b) => (a - b) * (this.to - this.from));
      const more = (this.to - this.from) / (end - start), times = this.times * more;
      [this.times, this.shift] = times > 1.001 ? [times, this.from + more * (this.shift - start)] : [1, 0];
    }
    zoom(times, around = (this.from + this.to) / 2) {  // 0 times: all is seen
      this.show(around - (around - this.from) / times, around + (this.to - around) / times);
    }
    text(start, end = start) {
      const word = value => this.words?.[short(value)] ?? (this.unit ? `${short(100 * value)} %` : short(value));
      return start === null ? "" : end === start || start === 0 ? word(end) : `${word(start)} to ${word(end)}`;
    }
    finer(ticks, which) {  // ticks between those of the figure, where these say numbers
      this.made.splice(0).forEach(tick => tick.remove());
      if (this.times === 1 || this.log || this.symlog || this.words || ticks.length < 2) return;
      const size = (this.high - this.low) / this.times, power = 10 ** Math.floor(Math.log10(Math.abs(size) / 4));
      const step = power * [1, 2, 5, 10].find(times => 4 * times * power >= Math.abs(size));
      const start = this.low + (this.from - this.moved(this.from)) / this.each / this.times, end = start + size;
      for (let n = Math.ceil(Math.min(start, end) / step); n * step <= Math.max(start, end); n++) {
        const tick = ticks[0].cloneNode(true), by = this.place(n * step) - ticks[0].dataset[which];
        set(tick, {visibility: "visible", transform: which === "x" ? `translate(${by} 0)` : `translate(0 ${by})`});
        tick.querySelectorAll("text").forEach(text => { text.textContent = this.text(n * step); });
        this.made.push(tick);
        ticks[0].after(tick);
      }
      ticks.forEach(tick => set(tick, {visibility: "hidden"}));
    }
  }
  class Panel {
    constructor(data) {
      const [left, bottom, right, top] = data.box, every = query => [...byId(data.id).querySelectorAll(query)];
      Object.assign(this, data, {x: new Axis(data.x, left, right), y: new Axis(data.y, bottom, top)});
      this.parts = every(".mark :is(path, use, image)").map(element => ({
        element, group: element.closest(".mark"), turned: element.getAttribute("transform") || "",
        at: element.matches(".points use") && [element.x.baseVal.value, element.y.baseVal.value],
      }));
      [this.moving, this.xticks, this.yticks] = ["[data-x], [data-y]", ".xtick", ".ytick"].map(every);
    }
    draw() {  // symbols of points move and keep their size
      const {x, y} = this, whole = x.times === 1 && y.times === 1;
      for (const {element, group, turned, at} of this.parts) {
        const clip = whole && group.matches(".free") ? "none" : `url(#${this.id}-clip)`;
        set(group, {"data-zoomed": !whole, "clip-path": clip});
        set(element, at ? {x: x.moved(at[0]), y: y.moved(at[1])}
          : {transform: `matrix(${[x.times, 0, 0, y.times, x.shift, y.shift]}) ${turned}`});
      }
      for (const element of this.moving) {
        const at = [element.dataset.x, element.dataset.y];
        const by = [x, y].map((axis, i) => at[i] ? axis.moved(at[i]) - at[i] : 0);
        const seen = whole || [x, y].every((axis, i) => !at[i] || axis.away(+at[i] + by[i]) < 0.1);
        set(element, {transform: `translate(${by})`, visibility: seen ? "visible" : "hidden"});
      }
      x.finer(this.xticks, "x");
      y.finer(this.yticks, "y");
    }
    zoom(times, at = {}) { this.x.zoom(times, at.x); this.y.zoom(times, at.y); this.draw(); }
    points() {  // of series that are shown
      const seen = this.marks.filter(({id}) => byId(id)?.getAttribute("display") !== "none");
      return seen.flatMap(mark => mark.points.map(point => ({mark, point, panel: this})));
    }
    nearest(at) {
      const far = ({point: [x, y, x2, y2]}) =>  // a symbol comes before a bar or a line below it
        Math.hypot(this.x.away(at.x, x, x2), this.y.away(at.y, y, y2)) + (x2 === undefined ? 0 : NEAR / 2);
      return this.points().filter(found => far(found) < NEAR).sort((a, b) => far(a) - far(b))[0];
    }
  }
  const begin = (name, data) => {
    const svg = document.querySelector(`[id="${name}"] svg`), role = data.legend.length ? "group" : "img";
    set(svg, {tabindex: 0, role}).querySelectorAll("text").forEach(text => set(text, {"aria-hidden": true}));
    const panels = data.panels.map(panel => new Panel(panel)), [ring, frame] = ["circle", "rect"].map(name =>
      set(document.createElementNS("http://www.w3.org/2000/svg", name), {class: "found", r: 6}));
    const place = event => new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const over = at => panels.find(({x, y}) => !x.away(at.x) && !y.away(at.y));
    const tell = found => {
      ring.remove();
      if (!found) return tip();
      const {mark, panel: {title, x, y}, point: [left, low, right, high, value]} = found;
      const lines = [["", [mark.series, title].filter(Boolean).join(", ")], ...value === undefined
        ? [[x.name, x.text(left, right)], [y.name, y.text(low, high)]] : [[data.value, short(value)]]];
      const [cx, cy] = [x.reach(left, right), y.reach(low, high)].map(([start, end]) => (start + end) / 2);
      svg.append(set(ring, {cx, cy}));
      tip(ring, lines.filter(([, words]) => words));
      return lines.flat().join(" ");
    };
    let drag = null, told = -1;
    svg.addEventListener("pointermove", event => {
      const at = place(event);
      tell(drag ? null : over(at)?.nearest(at));
      if (drag) svg.append(set(frame, {x: Math.min(at.x, drag.x), y: Math.min(at.y, drag.y),
        width: Math.abs(at.x - drag.x), height: Math.abs(at.y - drag.y)}));
    });
    svg.addEventListener("pointerleave", () => tell());
    svg.addEventListener("mousedown", event => { drag = event.button ? null : place(event); });
    addEventListener("mouseup", event => {
      const start = drag, end = place(event), panel = start && over(start);
      drag = null;
      frame.remove();
      if (!panel || Math.min(Math.abs(end.x - start.x), Math.abs(end.y - start.y)) < 5) return;
      ["x", "y"].forEach(which => panel[which].show(start[which], end[which]));
      panel.draw();
    });
    svg.addEventListener("dblclick", event => over(place(event))?.zoom(0));
    svg.addEventListener("wheel", event => {  // alone, it scrolls the page
      if (!(event.ctrlKey || event.metaKey || event.shiftKey)) return;
      event.preventDefault();
      over(place(event))?.zoom((event.deltaY || event.deltaX) < 0 ? STEP : 1 / STEP, place(event));
    }, {passive: false});
    svg.addEventListener("keydown", event => {
      const zoom = {"+": STEP, "-": 1 / STEP, 0: 0}[event.key], step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
      if (zoom !== undefined) panels.forEach(panel => panel.zoom(zoom));
      const points = step ? panels.flatMap(panel => panel.points()) : [];
      if (points.length) say(tell(points[told = (told + step + points.length) % points.length]));
      if ([" ", "Enter"].includes(event.key)) event.target.dispatchEvent(new Event("click"));
      if (step || event.key === " ") event.preventDefault();
    });
    for (const {id, series} of data.legend) {
      const entry = set(byId(id), {role: "button", tabindex: 0, "aria-pressed": true, "aria-label": series});
      [entry, byId(`${id}-sign`)].forEach(element => element?.addEventListener("click", () => {
        const on = entry.getAttribute("aria-pressed") === "false";
        panels.flatMap(panel => panel.marks).filter(mark => mark.series === series && mark.id)
          .forEach(mark => set(byId(mark.id), {display: on ? "inline" : "none"}));
        set(entry, {"aria-pressed": on});
        say(`${series} is ${on ? "shown" : "hidden"}`);
      }));
    }
  };
  for (const [name, data] of Object.entries(JSON.parse(byId("figures").textContent))) {
    try {
      begin(name, data);
    } catch (error) {  // the other figures do not wait for it
      const words = `This figure does not answer the pointer and the keyboard (${error.message}).`;
      document.querySelector(`[id="${name}"]`)?.append(make("p", {className: "failed", textContent: words}));
    }
  }
})();
