// The dearest nodes, a timeline, how loops and ifs ran, and memory.
const [KIND, NAME, BEGIN, LONG, TRACK, LANE, ARGS] = [0, 1, 2, 3, 4, 5, 6];
const ROW = 18, LEFT = 150, TOP = 20;
const spans = data.spans, end = greatest(spans, s => s[BEGIN] + s[LONG], 1);

function time(us) {
  if (us >= 1e6) return `${(us / 1e6).toPrecision(3)} s`;
  return us >= 1e3 ? `${(us / 1e3).toPrecision(3)} ms` : `${Number(us.toPrecision(3))} µs`;
}
function bytes(n) { return n >= 2 ** 20 ? `${(n / 2 ** 20).toFixed(1)} MiB` : `${(n / 1024).toFixed(1)} KiB`; }

function colour(span) {
  const { tier = "" } = span[ARGS];
  if (span[KIND] === "step") return tier.startsWith("native") ? "native" : tier === "interpreted" || tier === "step by step" ? "slow" : "other";
  if (span[KIND] === "chunk") return span[NAME].startsWith("native") ? "native" : "slow";
  return { run: "run", load: "run", trip: "run", prepare: "compile", compile: "compile", queue: "wait", wait: "wait" }[span[KIND]] ?? "other";
}

// ---- the table of the dearest nodes -------------------------------------------------------------------------

function cell(text) { return html("td", { class: "number" }, text); }

function dearest() {
  const all = data.dearest.reduce((sum, [, own]) => sum + own, 0) || 1;
  const body = html("tbody");
  const fill = count => appended(emptied(body), data.dearest.slice(0, count).map(([name, own, whole, times, tiers]) => {
    const row = html("tr", { tabindex: 0, on: pressed(() => choose(name)) }, html("td", {}, name),
      html("td", {}, html("span", { class: "share", style: `width:${(100 * own / all).toFixed(1)}px` })), cell(`${(100 * own / all).toFixed(1)} %`),
      cell(time(own * 1e6)), cell(time(whole * 1e6)), cell(String(times)), html("td", {}, tiers));
    row.dataset.name = name;
    return row;
  }));
  fill(15);
  const heads = ["node", "", "share", "in itself", "with all inside", "times", "ran"];
  const table = html("table", { id: "dearest" }, html("thead", {}, html("tr", {}, ...heads.map((h, k) =>
    html("th", { class: k > 1 && k < 6 ? "number" : undefined }, h)))), body);
  const more = data.dearest.length > 15 ? button("more", `all ${data.dearest.length}`, "show all rows", () => { fill(data.dearest.length); more.remove(); }) : undefined;
  return html("section", {}, html("h2", {}, "The dearest nodes"), table, more);
}

// ---- the timeline -------------------------------------------------------------------------------------------

const tracks = [...new Set(spans.map(s => s[TRACK]))].sort((a, b) => a - b).map(id => ({ id, spans: spans.filter(s => s[TRACK] === id).sort((a, b) => a[BEGIN] - b[BEGIN]) }));
let high = TOP;
for (const track of tracks) {
  track.top = high;
  track.lanes = [];
  for (const span of track.spans) (track.lanes[span[LANE]] ??= []).push(span);
  high += track.lanes.length * ROW + 10;
}
const inside = svg("g"), chart = svg("svg", { id: "timeline", class: "chart", height: high + 6 }, inside);
const facts = html("p", { id: "facts", class: "faint" }, "Click a span, or a row above. The wheel zooms, dragging moves.");
const at = { scale: 1, x: 0, y: 0, left: LEFT, least: 1, most: 1e7 };
let chosen = null, chosenName = null, planned = false;

function width() { return Math.max(200, chart.getBoundingClientRect().width - LEFT); }
function placeOf(us) { return LEFT + us / end * width() * at.scale + at.x; }

function draw() {
  planned = false;
  at.x = Math.min(0, Math.max(at.x, width() * (1 - at.scale)));
  const right = LEFT + width(), made = [];
  for (const track of tracks) {
    made.push(svg("text", { x: 4, y: track.top + 13 }, short(data.tracks[track.id] ?? `thread ${track.id}`, 22)));
    track.lanes.forEach((lane, depth) => { for (const bar of bars(lane, track.top + depth * ROW, right)) made.push(bar); });
  }
  for (let k = 0; k <= 5; ++k) {
    const x = LEFT + k * width() / 5, us = (x - LEFT - at.x) / (width() * at.scale) * end;
    made.push(svg("text", { x: Math.min(x, right - 50), y: 12, class: "faint" }, time(us)));
  }
  appended(emptied(inside), made);
}

/** The bars of a lane that are in sight; those that would be in the same pixel are left out. */
function bars(lane, top, right) {
  const made = [];
  let reached = LEFT;
  for (const span of lane ?? []) {
    const x = Math.max(LEFT, placeOf(span[BEGIN])), to = Math.min(right, placeOf(span[BEGIN] + span[LONG]));
    if (x > right) break;
    const picked = span === chosen || matches(span);
    if (to < LEFT || (to < reached + 0.5 && !picked)) continue;
    reached = to;
    made.push(svg("rect", { class: colour(span) + (picked ? " chosen" : ""), x, y: top, width: Math.max(0.7, to - x), height: ROW - 2,
      "data-name": span[NAME], on: { click: () => { chosen = span; chosenName = null; tell(span); draw(); } } }, svg("title", {}, `${span[NAME]}: ${time(span[LONG])}`)));
    if (to - x > 40) made.push(svg("text", { class: "inside", x: x + 4, y: top + 12 }, short(span[NAME], Math.floor((to - x) / 7))));
  }
  return made;
}

function matches(span) { return chosenName !== null && (span[NAME] === chosenName || (span[KIND] === "compile" && "compile " + span[NAME] === chosenName)); }

function tell(span) {
  const told = Object.entries(span[ARGS]).map(([key, value]) => `${key.replaceAll("_", " ")}: ${value}`);
  facts.textContent = [`${span[NAME]} (${span[KIND]})`, time(span[LONG]), `from ${time(span[BEGIN])}`, ...told].join(" · ");
}

function choose(name) {
  chosen = null;
  chosenName = name;
  const all = spans.filter(matches);
  facts.textContent = `${name}: ${all.length} recorded, ${time(all.reduce((sum, s) => sum + s[LONG], 0))} together`;
  draw();
}

function key(name, text) { return html("span", {}, html("span", { class: "key", style: `background: var(--${name})` }), text); }

// ---- how loops ran, and memory ------------------------------------------------------------------------------

function how() {
  const rows = Object.entries(data.how).map(([node, text]) => html("tr", {}, html("td", {}, node), html("td", {}, text)));
  return html("section", {}, html("h2", {}, "What ran natively, and why the rest did not"), rows.length
    ? html("table", { id: "how" }, html("thead", {}, html("tr", {}, html("th", {}, "loop or if"), html("th", {}, "ran"))), html("tbody", {}, ...rows))
    : html("p", { class: "faint" }, "There is no loop and no If here; the table above tells which nodes ran natively."));
}

function memory() {
  const most = greatest(data.memory, m => m[1], 1), tall = 110;
  let line = `M${LEFT},${tall}`, last = tall;
  const wide = 1000;
  for (const [us, n] of data.memory) {
    const x = LEFT + us / end * (wide - LEFT), y = tall - n / most * (tall - 16);
    line += `L${x.toFixed(1)},${last.toFixed(1)}L${x.toFixed(1)},${y.toFixed(1)}`;
    last = y;
  }
  line += `L${wide},${last.toFixed(1)}L${wide},${tall}Z`;
  return html("section", {}, html("h2", {}, "Memory in use by runs"), html("p", { class: "faint" }, `At most ${bytes(most)}: blocks of the session, without feeds and weights.`),
    svg("svg", { id: "memory", class: "chart", viewBox: `0 0 ${wide} ${tall + 4}`, height: tall, preserveAspectRatio: "none" }, svg("path", { class: "other", d: line })));
}

function summary() {
  const sum = kind => spans.filter(s => s[KIND] === kind).reduce((all, s) => all + s[LONG], 0), runs = spans.filter(s => s[KIND] === "run");
  const first = runs.length ? `the first of ${runs.length} run${runs.length > 1 ? "s" : ""} took ${time(runs[0][LONG])}, all ${time(sum("run"))}` : "no run";
  return html("p", { id: "summary" }, `Loading took ${time(sum("load"))}; ${first}. Compiling, in the background, took ${time(sum("compile"))}; runs waited ${time(sum("wait"))} for it.`);
}

document.body.className = "profile";
document.body.append(html("header", {}, html("h1", {}, data.title), themeButton()),
  html("main", {}, summary(), dearest(), html("section", {}, html("h2", {}, "Timeline"), html("p", {},
    key("native", "native code"), key("slow", "interpreted, or step by step"), key("other", "kernels and others"), key("compile", "preparing, compiling"), key("wait", "waiting")), chart, facts), how(), memory()));
zoomable(chart, at, () => { if (!planned) { planned = true; requestAnimationFrame(draw); } });
addEventListener("resize", draw);
draw();
