// Tables: sorting, filtering, links to rows, and the thesis's number beside ours.
(() => {
  "use strict";
  const MANY = 12;  // a table of more rows can be filtered
  const MOST = 300;  // rows that a filter adds to those of the page
  const {make, say, copyLink, tip} = window.thesiskit;

  // a cell as a number; NaN if it is none
  const numberOf = text => {
    const plain = text.replace(/[,\s<>%]/g, "").replace("−", "-");
    return plain === "" ? NaN : Number(plain);
  };

  const compare = (numeric, sign) => (a, b) => {
    if (!numeric) return sign * a.key.localeCompare(b.key, undefined, {numeric: true});
    const [x, y] = [numberOf(a.key), numberOf(b.key)];
    if (isNaN(x) || isNaN(y)) return isNaN(x) - isNaN(y);  // missing values are last
    return sign * (x - y);
  };

  class Table {
    constructor(table) {
      this.table = table;
      this.body = table.tBodies[0];
      this.rows = [...this.body.rows];
      this.added = [];  // that a filter found among those that the page does not show
      this.section = table.closest("section");
      this.title = this.section?.querySelector("h2")?.textContent.trim() || "this table";
      this.heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
      this.simple = this.rows.every(row => row.cells.length === this.heads.length);
      this.texts = this.rows.map(row => row.textContent.toLowerCase());
      this.packed = this.section?.querySelector("script.packed");
      this.total = Number(table.dataset.rows || this.rows.length);
      this.first = this.rows[0]?.cells[0]?.textContent;
      if (this.simple && this.rows.length > 1) this.heads.forEach((head, i) => this.sortable(head, i));
      if (this.rows.length > MANY || this.packed) this.filterable();
      if (this.section?.id && this.simple) this.linkable();
      if (table.querySelector("th.more")) this.widenable();
      this.pairs = this.heads.flatMap((head, i) => head.dataset.with ? [[i, Number(head.dataset.with)]] : []);
      if (this.pairs.length && this.simple) this.paired();
    }

    // the text that a row sorts by; an empty first cell means that of the row above
    keys(column) {
      let above = "";
      return [...this.rows, ...this.added].map(row => {
        const text = row.cells[column].dataset.said ?? row.cells[column].textContent.trim();
        above = column === 0 && !text ? above : text;
        return {row, key: above};
      });
    }

    sortable(head, column) {
      const button = make("button", {type: "button", className: "sort"});
      button.append(...head.childNodes);
      const name = button.textContent.trim() || "the first column";
      if (!button.textContent.trim()) button.setAttribute("aria-label", name);
      head.append(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const next = {none: "ascending", ascending: "descending", descending: "none"};
        const order = next[head.getAttribute("aria-sort")];
        this.heads.forEach(one => one.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", order);
        this.arrange();
        say(order === "none" ? "In the order of the page" : `Sorted by ${name}, ${order}`);
      });
    }

    // columns that few readers need are there after a click
    widenable() {
      const button = make("button", {type: "button", className: "all", textContent: "All columns"});
      button.setAttribute("aria-pressed", "false");
      this.table.classList.add("brief");
      button.addEventListener("click", () => {
        const brief = this.table.classList.toggle("brief");
        button.setAttribute("aria-pressed", String(!brief));
      });
      (this.table.closest(".scroll") || this.table).after(button);
    }

    arrange() {
      const column = this.heads.findIndex(one => /ing$/.test(one.getAttribute("aria-sort")));
      const order = this.heads[column]?.getAttribute("aria-sort");
      const keys = this.keys(Math.max(0, column));
      const known = keys.filter(one => !["", "–"].includes(one.key));
      const numeric = known.length > 0 && known.every(one => !isNaN(numberOf(one.key)));
      if (order) keys.sort(compare(numeric, order === "ascending" ? 1 : -1));
      this.table.classList.toggle("sorted", Boolean(order));
      this.body.append(...keys.map(one => one.row));
    }

    // the rows that the page does not show: texts, column after column, compressed
    async unpack() {
      const bytes = Uint8Array.from(atob(this.packed.textContent), one => one.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
      const columns = await new Response(stream).json();
      this.hidden = columns[0].map((_, i) => columns.map(column => column[i]));
    }

    rowOf(cells) {
      const row = this.rows[0].cloneNode(true);
      row.removeAttribute("id");
      Object.assign(row, {className: "", hidden: false, tabIndex: -1});
      cells.forEach((text, i) => { row.cells[i].textContent = text; });
      return row;
    }

    filterable() {
      const whole = this.packed || this.total === this.rows.length;
      const input = make("input", {type: "search", placeholder: `Filter ${whole ? "all" : "these"} rows`});
      input.setAttribute("aria-label", `Filter the rows of ${this.title}`);
      const all = `${this.rows.length}${whole && this.packed ? ` of ${this.total}` : ""} rows`;
      const count = make("output", {textContent: all});
      const box = make("div", {className: "filter"}, input, count);
      (this.table.closest(".scroll") || this.table).before(box);
      input.addEventListener("input", async () => {
        if (this.packed && !this.hidden) await this.unpack();
        const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
        const has = text => words.every(word => text.includes(word));
        const data = this.rows.filter(row => row.cells.length === this.heads.length);
        this.rows.forEach((row, i) => { row.hidden = !has(this.texts[i]); });
        const more = words.length && this.hidden
          ? this.hidden.filter(cells => has(cells.join("").toLowerCase())) : [];
        this.added.forEach(row => row.remove());
        this.added = more.slice(0, MOST).map(cells => this.rowOf(cells));
        if (this.packed) this.arrange();
        const found = data.filter(row => !row.hidden).length + more.length;
        const left = more.length - this.added.length;
        count.textContent = !words.length ? all
          : `${found} of ${this.packed ? this.total : data.length} rows${left ? `, the first ${found - left} below` : ""}`;
        this.rove();
      });
    }

    // one row can be reached with the tabulator, the others from it with the arrows
    linkable() {
      this.rows.forEach((row, i) => {
        row.id = `${this.section.id}-row-${i + 1}`;
        row.tabIndex = -1;
      });
      const button = make("button", {type: "button", className: "copy row", tabIndex: -1});
      button.setAttribute("aria-label", "Copy a link to this row");
      button.title = "Copy a link to this row";
      const show = row => {  // a button that moves while it is pressed is not clicked
        if (row?.id && button.parentElement !== row.cells[0]) row.cells[0].append(button);
      };
      button.addEventListener("click", () => copyLink(button.closest("tr").id));
      this.body.addEventListener("mouseover", event => show(event.target.closest("tr")));
      this.body.addEventListener("focusin", event => {
        const row = event.target.closest("tr");
        show(row);
        this.rove(row);
        this.describe?.(row, row.cells[0]);
      });
      this.body.addEventListener("focusout", () => tip());
      this.body.addEventListener("keydown", event => {
        const row = event.target.closest("tr");
        const open = [...this.body.rows].filter(one => !one.hidden);
        const steps = {ArrowDown: 1, ArrowUp: -1, Home: -open.length, End: open.length};
        if (event.key === "Enter" && event.target === row && row.id) copyLink(row.id);
        if (!(event.key in steps)) return;
        event.preventDefault();
        const place = Math.min(open.length - 1, Math.max(0, open.indexOf(row) + steps[event.key]));
        open[place].focus();
      });
      this.rove();
    }

    rove(row) {
      if (!this.section?.id || !this.simple) return;
      const open = [...this.body.rows].filter(one => !one.hidden);
      [...this.rows, ...this.added].forEach(one => { one.tabIndex = -1; });
      const reached = row || open[0];
      if (reached) reached.tabIndex = 0;
    }

    // the thesis's number and ours, and how far apart they are
    paired() {
      const name = i => this.heads[i].dataset.name || this.heads[i].textContent.trim();
      const lines = (row, pairs) => pairs.flatMap(([theirs, ours]) => {
        const [a, b] = [theirs, ours].map(i => row.cells[i].textContent.trim());
        if ([a, b].some(text => ["", "–"].includes(text))) return [];
        const apart = numberOf(b) - numberOf(a);
        const digits = Math.max(...[a, b].map(text => (text.split(".")[1] || "").length));
        const found = [["the thesis", a], [name(ours), b]];
        return isNaN(apart) ? found : [...found, ["difference", `${apart > 0 ? "+" : ""}${apart.toFixed(digits)}`]];
      });
      this.describe = (row, cell, pairs = this.pairs) => tip(cell, lines(row, pairs));
      const mark = (cell, on) => {
        const row = cell?.parentElement;
        const mine = this.pairs.filter(pair => pair.includes(cell?.cellIndex));
        if (!row?.cells || !mine.length) return;
        mine.slice(0, 1).flat().forEach(i => row.cells[i].classList.toggle("paired", on));
        if (on) this.describe(row, cell, mine.slice(0, 1)); else tip();
      };
      this.body.addEventListener("mouseover", event => mark(event.target.closest("td"), true));
      this.body.addEventListener("mouseout", event => mark(event.target.closest("td"), false));
    }
  }

  document.querySelectorAll("table").forEach(table => {
    if (table.tHead && table.tBodies[0]?.rows.length) new Table(table);
  });
})();
