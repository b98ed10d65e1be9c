// Puts the page together.

async function begin() {
  const { meta, arrays } = await unpack(byId("packed").textContent);
  const groups = new Groups(meta, arrays);
  byId("live").hidden = false;
  document.documentElement.classList.add("live");
  const detail = byId("detail");
  let held = groups.sequences ? groups.root : 0;

  const show = (g) => {
    detail.replaceChildren(...describe(groups, g));
    detail.style.setProperty("--colour", colour(groups, g));
  };
  const point = (g) => show(g === null ? held : g);
  const hold = (g) => {
    held = g;
    show(g);
  };

  let trie = null, list = null, cases = null;
  if (groups.sequences) {
    trie = new Trie(groups, (g) => {
      hold(g);
      list.inside = g;
      list.sort();
    }, point);
  }
  const open = (g) => {
    if (trie) trie.open(g);
    hold(g);
  };
  list = new List(groups, hold, open);
  if (groups.tests.length) {
    cases = new Cases(groups, (g, pressed) => (pressed ? open(g) : show(g)));
  }

  const name = () => {
    const two = groups.classes.length === 2;
    const [minus, plus] = two ? [...groups.classes].map(visible)
      : groups.classes.length ? [`less ${speaksFor(groups)}`, `more ${speaksFor(groups)}`]
        : ["less", "more"];
    for (const one of document.querySelectorAll(".says-minus")) one.textContent = minus;
    for (const one of document.querySelectorAll(".says-plus")) one.textContent = plus;
  };
  name();
  const classes = byId("class");
  if (classes && groups.sets > 1) {
    groups.classes.forEach((one, k) => classes.append(element("option", { value: k }, visible(one))));
    classes.value = groups.set;
    classes.addEventListener("change", () => {
      groups.set = Number(classes.value);
      name();
      if (trie) trie.draw();
      list.sort();
      if (cases) cases.draw();
      show(held);
    });
  }
  if (trie) trie.draw();
  hold(groups.sequences ? groups.root : list.shown[0]);
  document.documentElement.dataset.ready = "yes";
}

begin().catch((error) => {
  byId("live").hidden = true;
  document.documentElement.classList.remove("live");
  byId("failed").hidden = false;
  if ("DecompressionStream" in window) throw error; // else the paragraph says all
});
