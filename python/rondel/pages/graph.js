// Draws a graph in layers from top to bottom; a loop or an `if` is a box, which opens to show its regions.
const GAP = 22, LAYER_GAP = 46, LINE = 16, HEAD = 26, LETTER = 6.9, PADDING = 12;
const READABLE = 0.6;  // the least scale of a page that opens
const MOST_LAYERS = 10;  // an edge that would cross more layers becomes a reference by name
const INSIDE = HEAD + LINE * 3;  // where the regions of an open box begin
const OPEN_AT_FIRST = 150;  // with more nodes than this, boxes begin closed

const values = data.values.map(([name, type, constant], id) => ({ id, name: name || "%" + id, type, constant }));
const nodes = [];  // of all regions, outer ones first
let chosen = null, found = new Set(), drawn = new Map();

function prepare(region, parent) {
  region.parent = parent;
  for (const node of region.nodes) {
    node.id = nodes.push(node) - 1;
    node.owner = parent;
    [node.title, node.name] = parts(node.source, node.op);
    for (const inner of node.regions) prepare(inner, node);
  }
  // What is defined outside: read here, but neither a parameter nor given by a node.
  const own = new Set([...region.params, ...region.nodes.flatMap(n => n.outputs)].map(([v]) => v));
  const reads = [...region.nodes.flatMap(n => readsOf(n)), ...region.results].map(([v]) => v);
  region.captures = [...new Set(reads)].filter(v => v >= 0 && !own.has(v) && !values[v].constant);
}
function readsOf(node) {
  const read = node.inputs.filter(([v]) => v >= 0), seen = new Set(read.map(([v]) => v));
  for (const v of node.regions.flatMap(r => r.captures)) if (!seen.has(v)) { seen.add(v); read.push([v, ""]); }
  return read;
}
prepare(data.root, null);
for (const node of nodes) node.open = node.regions.length > 0 && nodes.length <= OPEN_AT_FIRST;

// ---- what a region shows: items, and edges between them -----------------------------------------------------

function wide(text) { return text.length * LETTER + 2 * PADDING; }

function portItem(kind, [value, role], fallback) {
  const { name, type, constant } = value < 0 ? { name: "", type: "" } : values[value];
  const label = [role || fallback, role === name ? "" : name, constant && short(constant, 24)].filter(Boolean).join(" ");
  return { kind, value, label, type, w: Math.max(wide(short(label, 34)), wide(short(type, 26))), h: HEAD, outs: kind === "result" ? [] : [value] };
}

function nodeItem(node) {
  const item = { kind: "node", node, outs: node.outputs.map(([v]) => v).filter(v => v >= 0) };
  item.lines = [short(node.name, 34), ...constantsOf(node)];
  const labels = item.outs.reduce((sum, v) => sum + wide(short(values[v].type, 26)), 0);
  item.w = greatest(item.lines, wide, Math.max(wide(node.title) * 1.08 + (node.regions.length ? 20 : 0), Math.min(labels, 600)));
  item.h = HEAD + LINE * item.lines.length;
  if (!node.open) return item;
  item.regions = node.regions.map(layout);
  item.lines = [[short(node.name, 60), summary(node)].filter(Boolean).join(" · ")];
  item.w = Math.max(item.w, wide(item.lines[0]), item.regions.reduce((sum, r) => sum + r.w + GAP, GAP));
  item.h = INSIDE + greatest(item.regions, r => r.h, 0) + LAYER_GAP / 2;
  return item;
}

function constantsOf(node) {
  if (node.regions.length) return [summary(node)];
  const small = node.inputs.map(([v]) => v >= 0 && values[v].constant).filter(c => c && c.length < 30);
  return small.length ? [short(small.join(", "), 34)] : [];
}

function summary(node) {
  if (node.op !== "loop") return "";
  const count = role => node.regions[0][role === "stack" ? "results" : "params"].filter(([, r]) => r === role).length;
  return ["state", "scan", "stack"].map(r => [count(r), r]).filter(([n]) => n).map(([n, r]) => `${n} ${r}${n > 1 ? "s" : ""}`).join(", ");
}

function itemsOf(region) {
  const isModel = region.parent === null;
  const fallback = isModel ? "input" : "parameter";
  return [
    ...region.params.map(p => portItem("param", p, fallback)),
    ...region.captures.map(v => portItem("capture", [v, ""], "from outside:")),
    ...region.nodes.map(nodeItem),
    ...region.results.map(p => portItem("result", p, isModel ? "output" : "result")),
  ];
}

// ---- layout: layers, order within layers, places -------------------------------------------------------------

function layout(region) {
  const items = itemsOf(region), maker = new Map();
  for (const item of items) { item.before = []; item.after = []; for (const v of item.outs) maker.set(v, item); }
  let edges = [];
  for (const to of items) {
    const read = to.node ? readsOf(to.node) : to.kind === "result" && to.value >= 0 ? [[to.value]] : [];
    for (const v of new Set(read.map(([v]) => v))) if (maker.has(v)) edges.push({ from: maker.get(v), to, value: v });
  }
  setLayers(items, edges);
  edges = withoutLong(items, edges);
  const layers = [];
  for (const item of items) (layers[item.layer] ??= []).push(item);
  for (let l = 0; l < layers.length; ++l) layers[l] ??= [];
  for (const e of edges) threadThrough(e, layers);
  order(layers);
  return { region, items, edges, ...place(layers) };
}

function setLayers(items, edges) {
  for (const item of items) item.layer = 0;
  for (const e of edges) (e.to.reads ??= []).push(e);
  for (const item of items) for (const e of item.reads ?? []) item.layer = Math.max(item.layer, e.from.layer + 1);
  const last = greatest(items, i => i.layer, 0);
  for (const item of items) if (item.kind === "result") item.layer = Math.max(last, 1);
  const readers = new Map();
  for (const e of edges) readers.set(e.from, Math.min(readers.get(e.from) ?? Infinity, e.to.layer));
  for (const item of items) if (item.kind === "param" || item.kind === "capture") item.layer = Math.max(0, (readers.get(item) ?? 1) - 1);
}

/** Replaces edges across many layers by references beside their readers. */
function withoutLong(items, edges) {
  const kept = [];
  for (const e of edges) {
    if (e.to.layer - e.from.layer <= MOST_LAYERS) { kept.push(e); continue; }
    const { name } = values[e.value];
    const label = "↑ " + short(name, 30);
    const reference = { kind: "reference", target: e.from, value: e.value, label, type: "", w: wide(label), h: 20, outs: [e.value], layer: e.to.layer - 1, before: [], after: [] };
    items.push(reference);
    kept.push({ from: reference, to: e.to, value: e.value });
  }
  return kept;
}

/** Gives an edge a point in each layer that it crosses. */
function threadThrough(e, layers) {
  e.path = [e.from];
  for (let l = e.from.layer + 1; l < e.to.layer; ++l) {
    const point = { kind: "point", w: 4, h: 0, layer: l, before: [], after: [] };
    layers[l].push(point);
    e.path.push(point);
  }
  e.path.push(e.to);
  for (let k = 1; k < e.path.length; ++k) { e.path[k].before.push(e.path[k - 1]); e.path[k - 1].after.push(e.path[k]); }
}

/** Sorts each layer by the mean position of the neighbours, downwards and upwards in turn. */
function order(layers) {
  const number = () => layers.forEach(layer => layer.forEach((item, k) => { item.at = k; }));
  number();
  for (let sweep = 0; sweep < 6; ++sweep) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) {
      for (const item of layer) {
        const near = down ? item.before : item.after;
        item.wish = near.length ? near.reduce((sum, n) => sum + n.at, 0) / near.length : item.at;
      }
      layer.sort((a, b) => a.wish - b.wish);
      layer.forEach((item, k) => { item.at = k; });
    }
  }
}

function place(layers) {
  for (const layer of layers) {
    let x = 0;
    for (const item of layer) { item.x = x; x += item.w + GAP; }
  }
  for (let sweep = 0; sweep < 10; ++sweep) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) spread(layer, item => down ? item.before : item.after);
  }
  let y = 0, left = Infinity, right = -Infinity;
  for (const layer of layers) {
    const high = greatest(layer, i => i.h, 0);
    for (const item of layer) { item.y = y; item.layerHigh = high; left = Math.min(left, item.x); right = Math.max(right, item.x + item.w); }
    y += high + LAYER_GAP;
  }
  for (const layer of layers) for (const item of layer) item.x -= left;
  return { w: layers.length && right > left ? right - left : 0, h: Math.max(0, y - LAYER_GAP) };
}

/** Moves the items of a layer below (or above) their neighbours, as near as the order and the gaps allow: least squares. */
function spread(layer, neighbours) {
  let offset = 0;
  const blocks = [];
  for (const item of layer) {
    const near = neighbours(item);
    const middle = near.length ? near.reduce((sum, n) => sum + n.x + n.w / 2, 0) / near.length : item.x + item.w / 2;
    item.offset = offset;
    const weight = near.length ? 1 : 0.05;
    blocks.push({ sum: (middle - item.w / 2 - offset) * weight, weight, items: [item] });
    offset += item.w + GAP;
    while (blocks.length > 1 && mean(blocks.at(-2)) > mean(blocks.at(-1))) {
      const last = blocks.pop(), into = blocks.at(-1);
      into.sum += last.sum;
      into.weight += last.weight;
      for (const item of last.items) into.items.push(item);
    }
  }
  for (const block of blocks) for (const item of block.items) item.x = mean(block) + item.offset;
}
function mean(block) { return block.sum / block.weight; }

// ---- drawing ------------------------------------------------------------------------------------------------

function draw(region) {
  const labelled = new Set();
  const group = svg("g");
  for (const e of region.edges) group.append(edge(e, labelled));
  for (const item of region.items) group.append(item.node ? drawNode(item) : drawPort(item));
  return group;
}

function edge(e, labelled) {
  const number = e.from.outs.indexOf(e.value), count = e.from.outs.length;
  const x = e.from.x + e.from.w * (number + 1) / (count + 1), y = e.from.y + e.from.h;
  let path = `M${x},${y}V${e.from.y + e.from.layerHigh}`, at = [x, e.from.y + e.from.layerHigh];
  for (const next of e.path.slice(1)) {
    const to = [next.x + next.w / 2, next.y], bend = LAYER_GAP / 2;
    path += `C${at[0]},${at[1] + bend} ${to[0]},${to[1] - bend} ${to[0]},${to[1]}`;
    if (next.kind === "point") path += `V${next.y + next.layerHigh}`;
    at = [to[0], next.y + next.layerHigh];
  }
  const made = svg("g", {}, svg("path", { class: "edge", d: path }, svg("title", {}, `${values[e.value].name}: ${values[e.value].type}`)));
  if (e.from.kind === "node" && !labelled.has(e.value)) {
    labelled.add(e.value);
    made.append(svg("text", { class: "type", x: x + 4, y: y + 13 }, short(values[e.value].type, 26)));
  }
  return made;
}

function drawPort(item) {
  const made = svg("g", { class: `item port ${item.kind}`, transform: `translate(${item.x},${item.y})` },
    svg("title", {}, `${item.label}: ${item.type}`),
    svg("rect", { width: item.w, height: item.h, rx: item.h / 2 }),
    svg("text", { x: item.w / 2, y: item.h / 2 + 4, "text-anchor": "middle" }, short(item.label, 34)));
  if (item.type) made.append(svg("text", { class: "type", x: item.w / 2 + 4, y: item.h + 13 }, short(item.type, 26)));
  if (item.target) made.addEventListener("click", () => { if (item.target.node) select(item.target.node, true); });
  return made;
}

function drawNode(item) {
  const { node } = item, box = node.regions.length > 0;
  const kind = box ? (node.op === "loop" ? " loop" : " if") : "";
  const act = e => { e.stopPropagation(); if (box) { node.open = !node.open; chosen = node; render(); } select(node, false); };
  const made = svg("g", { class: "item node" + kind, transform: `translate(${item.x},${item.y})`, tabindex: 0, role: "button",
    "data-name": node.name, "aria-expanded": box ? String(node.open) : undefined, on: pressed(act) },
    svg("rect", { width: item.w, height: item.h, rx: 5 }),
    svg("text", { class: "op", x: PADDING, y: 17 }, (box ? (node.open ? "▾ " : "▸ ") : "") + node.title));
  item.lines.forEach((line, k) => made.append(svg("text", { class: "faint", x: PADDING, y: 17 + LINE * (k + 1) }, line)));
  let x = GAP;
  for (const inner of item.regions ?? []) {
    const top = INSIDE;
    made.append(svg("rect", { class: "frame", x: x - 8, y: top - 12, width: inner.w + 16, height: inner.h + 12 + 20, rx: 4, fill: "none" }),
      svg("text", { class: "faint", x: x - 4, y: top - 16 }, inner.region.role),
      svg("g", { transform: `translate(${x},${top})` }, draw(inner)));
    x += inner.w + GAP;
  }
  drawn.set(node, made);
  return made;
}

// ---- the page -----------------------------------------------------------------------------------------------

const view = svg("g"), drawing = svg("svg", { id: "drawing" }, view), panel = html("aside", { id: "details" });
const at = { scale: 1, x: 20, y: 20, left: 0, least: 0.02, most: 4 };
const show = zoomable(drawing, at, (scale, x, y) => view.setAttribute("transform", `translate(${x},${y}) scale(${scale})`));
let size = { w: 0, h: 0 };

function render() {
  drawn = new Map();
  size = layout(data.root);
  view.replaceChildren(draw(size));
  mark();
}

function fit(least = at.least) {
  const box = drawing.getBoundingClientRect(), whole = Math.min((box.width - 40) / (size.w || 1), (box.height - 40) / (size.h || 1));
  at.scale = Math.min(1.2, Math.max(least, whole));
  const first = size.items[0], middle = whole < at.scale && first ? first.x + first.w / 2 : size.w / 2;
  at.x = box.width / 2 - middle * at.scale;
  at.y = 20;
  show();
}

function mark() {
  for (const [node, element] of drawn) {
    element.classList.toggle("chosen", node === chosen);
    element.classList.toggle("found", found.has(node));
  }
}

/** Shows what is known of a node, and moves to it if asked. */
function select(node, move) {
  chosen = node;
  describe(node);
  if (move) {
    for (let around = node.owner; around; around = around.owner) around.open = true;
    if (!drawn.has(node)) render();
    const to = drawn.get(node).getBoundingClientRect(), box = drawing.getBoundingClientRect();
    at.x += box.left + box.width / 2 - (to.left + to.width / 2);
    at.y += box.top + box.height / 3 - to.top;
    show();
  }
  mark();
}

function portList(title, ports) {
  const shown = ports.filter(([v]) => v >= 0);
  if (!shown.length) return [];
  const line = ([v, role]) => html("dd", {}, [role, `${values[v].name}: ${values[v].type}`, values[v].constant && "= " + values[v].constant].filter(Boolean).join("  "));
  return [html("dt", {}, title), ...shown.map(line)];
}

function describe(node) {
  const lines = [...Object.entries(node.attributes).map(([key, value]) => html("dd", {}, `${key} = ${value}`))];
  const report = data.control[node.source] ?? {};
  const facts = [["ends", report.bound], ["runs", report.execution]].filter(([, text]) => text);
  panel.replaceChildren(html("h2", {}, node.title), html("div", { class: "faint" }, node.source || node.op),
    html("dl", {}, ...facts.flatMap(([key, text]) => [html("dt", {}, key), html("dd", {}, text)]),
      ...(lines.length ? [html("dt", {}, "attributes"), ...lines] : []),
      ...portList("inputs", node.inputs), ...portList("outputs", node.outputs),
      ...node.regions.flatMap(r => [...portList(`${r.role}: parameters`, r.params), ...portList(`${r.role}: results`, r.results)])));
}

function search(text) {
  const wanted = text.toLowerCase();
  const matches = wanted ? nodes.filter(n => [n.title, n.name, n.op, ...n.outputs.map(([v]) => v < 0 ? "" : values[v].name)].some(t => t.toLowerCase().includes(wanted))) : [];
  found = new Set(matches);
  document.getElementById("count").textContent = wanted ? `${matches.length} found` : "";
  mark();
  return matches;
}

let next = 0;
const field = html("input", { id: "search", type: "search", placeholder: "find a node (Enter: the next one)", on: {
  input: () => { next = 0; search(field.value); },
  keydown: e => { if (e.key === "Enter") { const all = search(field.value); if (all.length) select(all[next++ % all.length], true); } } } });
const all = open => () => { for (const n of nodes) n.open = open && n.regions.length > 0; render(); fit(READABLE); };
document.body.className = "graph";
document.body.append(
  html("header", {}, html("h1", {}, data.title), field, html("span", { id: "count", class: "faint" }),
    button("open", "open all", "show what is in all loops and ifs", all(true)), button("close", "close all", "hide what is in loops and ifs", all(false)),
    button("fit", "fit", "show all of it", () => fit()), themeButton()),
  drawing, panel);
panel.append(html("p", { class: "faint" }, `${nodes.length} nodes. Click a node to see what it reads and gives; a box opens and closes. The wheel zooms, dragging moves.`));
render();
fit(READABLE);
