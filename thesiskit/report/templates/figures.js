// Figures: each picture becomes a drawing that zooms, shows values, and whose series switch.
(() => {
  "use strict";
  const source = document.getElementById("figures");
  if (!source || !window.vegaEmbed) return;
  const {make, say} = window.thesiskit;
  const LEAST = 120, LARGEST = 1.25, STEP = 1.5;  // pixels of a panel; times its size; of a zoom
  const INK = "#1f1f1f", FONT = "system-ui, 'DejaVu Sans', sans-serif";
  const config = {
    background: null, font: FONT, padding: 4,
    axis: {labelColor: INK, titleColor: INK, domainColor: INK, tickColor: INK, gridColor: "#e6e6e6",
           labelFontSize: 11.5, titleFontSize: 12, titleFontWeight: "normal", tickSize: 4,
           labelLimit: 230, titleLimit: 600, labelOverlap: "greedy"},
    title: {fontSize: 12.5, fontWeight: 600, color: INK, limit: 500},
    view: {stroke: null},
  };

  class Figure {
    constructor(section, data) {
      Object.assign(this, {section, data, off: new Set(), width: 0});
      this.picture = section.querySelector(".picture");
      this.inner = make("div");
      this.chart = make("div", {className: "chart"}, this.inner);
      this.chart.setAttribute("role", "img");
      this.chart.setAttribute("aria-label", this.picture.querySelector("img").alt);
      this.drawn = make("div", {className: "drawn"}, this.tools(), ...this.texts());
      this.picture.after(this.drawn);
    }

    texts() {
      const above = this.data.y.join(" "), below = this.data.x.join(" ");
      return [
        ...this.data.scales.map(scale => this.colours(scale)),
        ...(above ? [make("p", {className: "axis", textContent: `↑ ${above}`})] : []),
        this.chart,
        ...(below ? [make("p", {className: "axis below", textContent: `${below} →`})] : []),
      ];
    }

    tools() {
      const switches = this.data.series.map(series => this.legend(series));
      const zooms = [["Zoom in", "+", STEP], ["Zoom out", "−", 1 / STEP], ["Show all", "Whole", 0]]
        .map(([words, text, times]) => {
          const button = make("button", {type: "button", textContent: text, title: words});
          button.setAttribute("aria-label", `${words}: ${this.section.querySelector("h2").textContent.trim()}`);
          button.addEventListener("click", () => this.zoom(times));
          return button;
        });
      return make("div", {className: "tools"},
        make("div", {className: "series"}, ...switches), make("div", {className: "zoom"}, ...zooms));
    }

    legend(series) {
      const swatch = make("span", {className: "swatch", innerHTML: series.swatch});
      if (!series.switch) return make("span", {}, swatch, series.name);
      const button = make("button", {type: "button", title: "Show or hide"}, swatch, series.name);
      button.setAttribute("aria-pressed", "true");
      button.addEventListener("click", () => {
        const on = this.off.has(series.switch);
        if (on) this.off.delete(series.switch); else this.off.add(series.switch);
        button.setAttribute("aria-pressed", on);
        this.view?.signal(series.switch, on).run();
        say(`${series.name} is ${on ? "shown" : "hidden"}`);
      });
      return button;
    }

    colours(scale) {
      const bar = make("span", {className: "bar"});
      bar.style.background = `linear-gradient(to right, ${scale.colours.join(",")})`;
      const ticks = scale.ticks.map(([place, text]) => {
        const tick = make("span", {textContent: text});
        tick.style.left = `${place}%`;
        return tick;
      });
      return make("div", {className: "scale"}, make("span", {textContent: scale.title}),
        make("span", {className: "ruler"}, bar, make("span", {className: "ticks"}, ...ticks)));
    }

    // the specification for a width: panels that would be too narrow go below each other
    fitted(width, spare) {
      const {spec, panels} = this.data;
      const sizes = spec.concat.map(panel => panel.width);
      const widest = Math.max(...sizes);
      const least = Math.min(LEAST, widest);
      let columns = spec.columns, size = 0;
      for (; columns >= 1; columns--) {
        size = (width - spare - 55 - (columns - 1) * (columns < spec.columns ? 60 : 24)) / columns;
        if (size >= least || columns === 1) break;
      }
      const folded = columns < spec.columns;
      const times = Math.min(LARGEST, Math.max(size, 60) / widest);
      const unit = (panel, i) => {
        const copy = structuredClone(panel), place = panels[i];
        copy.width = Math.round(panel.width * times);
        copy.height = Math.round(panel.height * (folded ? Math.max(times, Math.min(1, 120 / panel.height)) : times));
        if (folded) {
          copy.title.text = [...place.y, ...place.title];
          Object.assign(copy.encoding.x.axis, {labels: true});
          Object.assign(copy.encoding.y.axis, {labels: true});
          if (place.y.length || place.column === 0) copy.encoding.y.axis.titleLimit = copy.height + 40;
          if (place.x.length) copy.encoding.x.axis.title = place.x;
          for (const axis of ["x", "y"]) this.fewer(copy, axis);
        } else {
          this.fewer(copy, "x");
        }
        if (!copy.title.text.length) delete copy.title;
        else copy.title.limit = copy.width + 50;
        return copy;
      };
      const cells = [];
      spec.concat.forEach((panel, i) => {
        const place = folded ? cells.length : panels[i].row * columns + panels[i].column - this.above(columns);
        while (cells.length < place) cells.push(this.hole(panel, times));
        cells.push(unit(panel, i));
      });
      const params = spec.params.map(one => ({...one, value: !this.off.has(one.name)}));
      return {...spec, params, columns, concat: cells, config};
    }

    above(columns) { return Math.min(...this.data.panels.map(one => one.row)) * columns; }

    hole(panel, times) {
      return {width: Math.round(panel.width * times), height: Math.round(panel.height * times),
              view: {stroke: null}, data: {values: []}, mark: "point"};
    }

    fewer(panel, channel) {  // ticks, where a panel is small
      const axis = panel.encoding[channel].axis;
      const size = channel === "x" ? panel.width : panel.height;
      if (axis.tickCount) axis.tickCount = Math.max(2, Math.min(axis.tickCount, Math.floor(size / 34)));
    }

    async draw() {
      const width = this.drawn.clientWidth;
      if (!width || Math.abs(width - this.width) < 8) return;
      this.width = width;
      let spare = 0;
      for (let i = 0; i < 3; i++) {
        this.view?.finalize();
        const spec = this.fitted(width, spare);
        const made = await vegaEmbed(this.inner, spec, {
          mode: "vega-lite", actions: false, renderer: "svg", ast: false, tooltip: {theme: "thesiskit"},
        });
        this.view = made.view;
        const excess = this.chart.querySelector("svg").getBoundingClientRect().width - width;
        if (excess <= 0) break;
        spare += excess + 2;
      }
      this.inner.setAttribute("aria-hidden", "true");  // the chart says what it is
      this.section.classList.add("explored");
    }

    zoom(times) {
      if (!this.view) return;
      this.data.spec.concat.forEach((panel, i) => ["x", "y"].forEach(channel => {
        const {domain, type} = panel.encoding[channel].scale;
        const signal = `zoom${i}_${channel}`;
        const [low, high] = (this.view.signal(signal) || domain).map(type === "log" ? Math.log : Number);
        const middle = (low + high) / 2, half = (high - low) / 2 / (times || 1);
        const ends = [middle - half, middle + half].map(type === "log" ? Math.exp : Number);
        this.view.signal(signal, times ? ends : null);
      }));
      this.view.run();
    }
  }

  const data = JSON.parse(source.textContent);
  const figures = new Map();
  const near = new IntersectionObserver(entries => entries.forEach(entry => {
    if (entry.isIntersecting) figures.get(entry.target)?.draw();
  }), {rootMargin: "800px"});
  const sized = new ResizeObserver(entries => entries.forEach(entry => {
    const figure = figures.get(entry.target);
    if (figure.view) { clearTimeout(figure.later); figure.later = setTimeout(() => figure.draw(), 120); }
  }));
  for (const [name, found] of Object.entries(data)) {
    const section = document.getElementById(name);
    if (!section?.querySelector(".picture")) continue;
    figures.set(section, new Figure(section, found));
    near.observe(section);
    sized.observe(section);
  }
})();
