// What the page was given: names as text, numbers as typed arrays.

const TYPES = {
  u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i4: Int32Array, f4: Float32Array,
  f8: Float64Array,
};

// Undoes what `pack` of thesiskit/report/explorer.py did.
async function unpack(text) {
  const letters = atob(text.trim());
  const packed = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) packed[i] = letters.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let at = 4 + new DataView(bytes.buffer).getUint32(0, true);
  const meta = JSON.parse(new TextDecoder().decode(bytes.subarray(4, at)));
  const arrays = {};
  for (const [name, kind, length] of meta.arrays) {
    const size = TYPES[kind].BYTES_PER_ELEMENT;
    const whole = new Uint8Array(length * size);
    for (let plane = 0; plane < size; plane++) {
      for (let i = 0; i < length; i++) whole[i * size + plane] = bytes[at++];
    }
    arrays[name] = new TYPES[kind](whole.buffer);
  }
  return { meta, arrays };
}

// Where lists of these lengths begin, one after another.
function begins(lengths) {
  const begin = new Uint32Array(lengths.length + 1);
  for (let i = 0; i < lengths.length; i++) begin[i + 1] = begin[i] + lengths[i];
  return begin;
}

class Groups {
  constructor(meta, arrays) {
    Object.assign(this, meta, arrays);
    this.count = this.cases.length;
    this.fitted = Boolean(this.quantiles);
    this.sets = this.fitted ? this.quantiles.length / (3 * this.count) : 1;
    this.set = this.sets - 1;
    if (this.sequences) this.growTrie();
    else this.placeItems();
  }

  // The low end (0), median (1) or high end (2) of a coefficient.
  at(level, g) {
    return this.quantiles[(level * this.sets + this.set) * this.count + g];
  }

  // ---- sequences ----

  growTrie() {
    this.edgeBegin = begins(this.edgeLength);
    this.single = this.states.every((one) => Array.from(one).length === 1);
    this.root = this.above.indexOf(-1);
    const lengths = new Uint32Array(this.count);
    for (const above of this.above) if (above >= 0) lengths[above]++;
    this.childBegin = begins(lengths);
    this.children = new Uint32Array(this.childBegin[this.count]);
    const filled = this.childBegin.slice(0, -1);
    const bySize = Uint32Array.from(this.cases.keys())
      .sort((a, b) => this.cases[b] - this.cases[a] || a - b);
    for (const g of bySize) {
      if (this.above[g] >= 0) this.children[filled[this.above[g]]++] = g;
    }
  }

  below(g) {
    return this.children.subarray(this.childBegin[g], this.childBegin[g + 1]);
  }

  path(g) {
    const path = [];
    for (; g >= 0; g = this.above[g]) path.unshift(g);
    return path;
  }

  // States in the order of time; an edge has the most recent one first.
  written(codes) {
    return Array.from(codes, (code) => visible(this.states[code])).reverse()
      .join(this.single ? "" : " ");
  }

  edge(g) {
    return this.edgeItems.subarray(this.edgeBegin[g], this.edgeBegin[g + 1]);
  }

  codes(g, shortest = false) {
    const codes = [];
    for (const one of this.path(g)) {
      codes.push(...(shortest && one === g ? this.edge(g).subarray(0, 1) : this.edge(one)));
    }
    return shortest && this.first[g] === 0 ? [] : codes;
  }

  // The group of a typed pattern, and how many of its last states there are in the trie.
  find(codes) {
    let g = this.root, found = 0;
    for (;;) {
      for (const code of this.edge(g)) {
        if (found === codes.length || codes[codes.length - 1 - found] !== code) return { g, found };
        found++;
      }
      if (found === codes.length) return { g, found };
      const next = codes[codes.length - 1 - found];
      const child = this.below(g).find((one) => this.edge(one)[0] === next);
      if (child === undefined) return { g, found };
      g = child;
    }
  }

  // ---- features ----

  placeItems() {
    this.shortestBegin = begins(this.shortestLength);
    this.longestBegin = begins(this.longestLength);
    this.offset = begins(this.values.map((one) => one.length));
    this.featureOf = new Uint32Array(this.offset[this.features.length]);
    this.features.forEach((_, t) => this.featureOf.fill(t, this.offset[t], this.offset[t + 1]));
  }

  items(g) {
    return [
      this.shortestItems.subarray(this.shortestBegin[g], this.shortestBegin[g + 1]),
      this.longestItems.subarray(this.longestBegin[g], this.longestBegin[g + 1]),
    ];
  }

  // Whether its cases have more values in common than a pattern of the model can fix.
  sharesMore(g) {
    const [few, more] = this.items(g);
    return few.length + more.length + this.cut[g] > this.last[g];
  }

  item(i) {
    const t = this.featureOf[i];
    return `${visible(this.features[t])}=${visible(this.values[t][i - this.offset[t]])}`;
  }

  // ---- both ----

  // A pattern of a group in words: its longest, or a shortest one.
  text(g, shortest = false) {
    if (this.sequences) {
      const codes = this.codes(g, shortest);
      const more = !shortest && this.cut[g] ? "…" : "";
      return codes.length ? more + this.written(codes) : "(any)";
    }
    const [few, more] = this.items(g);
    const items = shortest ? [...few] : [...few, ...more].sort((a, b) => a - b);
    const left = !shortest && this.cut[g] ? `, and ${count(this.cut[g])} more` : "";
    return items.length ? items.map((i) => this.item(i)).join(", ") + left : "(any)";
  }

  // The name of a group in lists: features by a shortest pattern, sequences by the longest.
  name(g) {
    return this.text(g, !this.sequences);
  }

  hasItem(g, from, to) {
    return this.items(g).some((items) => items.some((i) => from <= i && i < to));
  }
}
