// What tables and figures share: messages, links that are copied, the dark page.
window.thesiskit = (() => {
  "use strict";
  const make = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };

  const status = make("p", {id: "status"});
  status.setAttribute("role", "status");
  document.body.append(status);
  let fading;
  const say = (words, show = false) => {
    status.textContent = words;
    status.classList.toggle("shown", show);
    clearTimeout(fading);
    fading = setTimeout(() => status.classList.remove("shown"), 2500);
  };

  const copied = text => {  // for pages that have no right to the clipboard
    const area = make("textarea", {value: text});
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  };

  const copyLink = async id => {
    const link = `${location.href.split("#")[0]}#${id}`;
    history.replaceState(null, "", `#${id}`);
    let done = true;
    try {
      await navigator.clipboard.writeText(link);
    } catch {
      const before = document.activeElement;
      done = copied(link);
      before?.focus();
    }
    show(false);
    say(done ? "The link is copied." : "The link is in the address bar.", true);
  };

  // what the address leads to: a closed list opens, a row is marked
  const show = (scroll = true) => {
    document.querySelectorAll(".linked").forEach(one => one.classList.remove("linked"));
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    const closed = target.closest("details");
    if (closed) closed.open = true;
    if (target.matches("tr")) target.classList.add("linked");
    if (scroll) target.scrollIntoView({block: target.matches("tr") ? "center" : "start"});
  };
  addEventListener("hashchange", () => show());
  addEventListener("load", () => { if (location.hash) show(); });

  const words = make("dl", {id: "tip", hidden: true});
  document.body.append(words);
  const tip = (cell, lines = []) => {
    words.hidden = !cell || !lines.length;
    if (words.hidden) return;
    words.replaceChildren(...lines.map(([name, value]) =>
      make("div", {}, make("dt", {textContent: name}), make("dd", {textContent: value}))));
    const box = cell.getBoundingClientRect();
    const left = Math.min(box.left, document.documentElement.clientWidth - words.offsetWidth - 8);
    words.style.left = `${Math.max(8, left) + scrollX}px`;
    words.style.top = `${box.bottom + 6 + scrollY}px`;
  };

  document.querySelectorAll("section[id] > h2").forEach(head => {
    const title = head.textContent.trim();
    const button = make("button", {type: "button", className: "copy", title: "Copy a link"});
    button.setAttribute("aria-label", `Copy a link to ${title}`);
    button.addEventListener("click", () => copyLink(head.parentElement.id));
    head.append(button);
  });

  const root = document.documentElement;
  const prefers = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : prefers.matches;
  const toggle = make("button", {type: "button", id: "theme"});
  const told = () => { toggle.textContent = dark() ? "Light page" : "Dark page"; };
  toggle.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("thesiskit-theme", root.dataset.theme); } catch { /* not kept */ }
    told();
  });
  prefers.addEventListener("change", told);
  told();
  document.querySelector("main").prepend(toggle);

  return {make, say, copyLink, tip};
})();
