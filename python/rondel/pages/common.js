"use strict";
const data = JSON.parse(document.getElementById("data").textContent);

/** An HTML element with attributes and children (elements or texts). `on`: listeners by name. */
function html(tag, attributes = {}, ...children) { return filled(document.createElement(tag), attributes, children); }
/** The same in SVG. */
function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}
function filled(element, { on = {}, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(name, value);
  for (const [name, act] of Object.entries(on)) element.addEventListener(name, act);
  return appended(element, children);
}
function emptied(element) { element.replaceChildren(); return element; }
/** Appends children that are not undefined, one by one: a call with all of them may have more arguments than the browser allows. */
function appended(element, children) {
  for (const child of children) if (child !== undefined) element.append(child);
  return element;
}

/** A click and the enter key do the same. */
function pressed(act) { return { click: act, keydown: e => { if (e.key === "Enter") act(e); } }; }

function button(id, label, title, act) { return html("button", { id, title, on: { click: act } }, label); }

function themeButton() {
  const root = document.documentElement;
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  return button("theme", "dark / light", "change the colours", () => { root.dataset.theme = dark() ? "light" : "dark"; });
}

/** "Mul 'square'" of "node 'square' (Mul)": [op, name]; of any other text: [otherwise, the text]. */
function parts(source, otherwise) {
  const found = /^node '(.*)' \((\w+)\)$/s.exec(source);
  return found ? [found[2], found[1]] : [otherwise, source];
}

/** The greatest of what `of` gives for each item, and of `least`. Math.max(...all) fails with more arguments than the browser allows. */
function greatest(items, of, least) { return items.reduce((most, item) => Math.max(most, of(item)), least); }

function short(text, most) { return text.length > most ? text.slice(0, most - 1) + "…" : text; }

/** Zooms (wheel) and moves (drag) what `place(scale, x, y)` shows; begins with `at`. at.left: where it begins to the left. */
function zoomable(element, at, place) {
  let from = null, moved = false;
  const show = () => place(at.scale, at.x, at.y);
  element.addEventListener("wheel", e => {
    e.preventDefault();
    const box = element.getBoundingClientRect(), px = e.clientX - box.left - at.left, py = e.clientY - box.top;
    const by = Math.exp(-e.deltaY / 400), scale = Math.min(Math.max(at.scale * by, at.least), at.most);
    at.x = px - (px - at.x) * scale / at.scale;
    at.y = py - (py - at.y) * scale / at.scale;
    at.scale = scale;
    show();
  }, { passive: false });
  element.addEventListener("pointerdown", e => { from = [e.clientX - at.x, e.clientY - at.y]; moved = false; });
  addEventListener("pointermove", e => {
    if (!from) return;
    const [x, y] = [e.clientX - from[0], e.clientY - from[1]];
    if (!moved && Math.hypot(x - at.x, y - at.y) < 4) return;
    moved = true;
    [at.x, at.y] = [x, y];
    show();
  });
  addEventListener("pointerup", () => { from = null; });
  element.addEventListener("click", e => { if (moved) e.stopPropagation(); moved = false; }, true);
  return show;
}
