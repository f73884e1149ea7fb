// Points of charts: their facts, the tip beside the pointer, the panel that keeps a point, and keys that move over them.

const familyOf = position => results.policies.families[results.policies.family.values[position]];

// The text of a parameter of a policy; empty where the policy does not have it.
function parameterText(parameter, position) {
  const value = parameter.values.values[position];
  if (parameter.words) return value < 0 ? "" : parameter.words[value];
  return Number.isNaN(value) ? "" : shortNumber(value);
}

// The same in TOML, with all digits; undefined where the config does not hold it.
function parameterToml(parameter, position) {
  if (parameter.words) return results.commands.values[parameter.name]?.[parameterText(parameter, position)];
  return String(parameter.values.values[position]).replace("Infinity", "inf");
}

const ofPolicy = name => (name.startsWith("policies.") ? name.slice("policies.".length) : name);

// Pairs of a parameter and its value for a policy of a grid.
function parameterFacts(position) {
  return results.parameters
    .map(parameter => [ofPolicy(parameter.name), parameterText(parameter, position)])
    .filter(([, text]) => text !== "");
}

const shellWord = text => (/^[\w.=/:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`);
const tomlString = text => JSON.stringify(text).replaceAll("\u007f", "\\u007f");

// The command that simulates a policy alone, from the config in results.nc; otherwise why there is none.
function commandOf(position) {
  const { families, changes: always, grid, imports, missing } = results.commands;
  if (missing) return { command: "", why: missing };
  const toml = {};
  for (const parameter of results.parameters) {
    if (parameterText(parameter, position) !== "") toml[parameter.name] = parameterToml(parameter, position);
  }
  if (Object.values(toml).includes(undefined)) return { command: "", why: "The config does not hold these values." };
  const varied = Object.keys(toml).filter(name => name.startsWith("policies.")).sort().join();
  const pairs = (families[familyOf(position)] ?? []).find(table => table.filter(([, value]) => value === null).map(([name]) => `policies.${name}`).sort().join() === varied);
  if (!pairs) return { command: "", why: "The config does not name this policy." };
  const own = pairs.map(([name, value]) => `${name} = ${value ?? toml[`policies.${name}`]}`);
  const policy = `policies=[{${[...own, `label = ${tomlString(results.policies.labels[position])}`].join(", ")}}]`;
  const ofProblem = Object.keys(toml).filter(name => name.startsWith("problem.")).map(name => `${name}=${toml[name]}`);
  const changes = [policy, ...ofProblem, ...always, ...(grid ? ["grid={}"] : [])].map(change => `--set ${shellWord(change)}`);
  const files = imports.map(name => `--import ${shellWord(name)}`);
  return { command: [`jaxbandit run ${shellWord(results.file)}`, ...files, ...changes, "--out point"].join(" "), why: "" };
}

// The facts of a point of a policy: pairs of a term and a text.
function policyFacts(position, series, more) {
  const instance = results.instances.length > 1 ? [["instance", seriesName(series)]] : [];
  return [...parameterFacts(position), ...instance, ...more];
}

const seriesName = series => (series === 0 ? `mean over ${results.instances.length} instances` : results.instances[series - 1]);

// What the numbers of some series are means over, in words.
function sampleWords(chosen) {
  const single = chosen.filter(series => series > 0);
  if (results.instances.length === 1 || !single.length) return results.sample;
  const names = single.slice(0, 3).map(series => results.instances[series - 1]).join(", ") + (single.length > 3 ? `, ${ELLIPSIS}` : "");
  const runs = results.sample.replace(/^.* \u00d7 /, ""); // of "3 instances x 8 runs"
  const words = single.length === 1 ? `${runs} of instance ${names}` : `${runs} of each of the instances ${names}`;
  return chosen.includes(0) ? `${results.sample}; ${words}` : words;
}

const counted = (count, one, several = `${one}s`) => `${countText(count)} ${count === 1 ? one : several}`;

const tip = element("div", { id: "tip", hidden: true });
const keptPoint = element("section", { id: "point", "aria-live": "polite", "aria-label": "Chosen point", hidden: true });

function showTip(point, x, y) {
  tip.replaceChildren(
    element("strong", {}, labelElement(point.label, 60)),
    ...point.facts.map(([term, text]) => element("div", {}, `${term}: `, labelElement(text, 80))),
    element("div", { class: "hint" }, point.position === null ? "" : shortened(commandOf(point.position).command, 160)),
    element("div", { class: "hint" }, "click or Enter: keep this point below"));
  tip.hidden = false;
  const { offsetWidth: width, offsetHeight: height } = tip;
  tip.style.left = `${Math.max(4, Math.min(x + 14, window.innerWidth - width - 8))}px`;
  tip.style.top = `${y + 18 + height > window.innerHeight ? Math.max(4, y - height - 12) : y + 18}px`;
}

function hideTip() {
  tip.hidden = true;
}

function keepPoint(point) {
  const { command, why } = point.position === null ? { command: "", why: "" } : commandOf(point.position);
  const copy = command ? buttonControl("Copy command", event => copyText(command, event.target)) : null;
  keptPoint.replaceChildren(
    element("h2", {}, labelElement(point.label, 200)),
    element("dl", {}, ...point.facts.flatMap(([term, text]) => [element("dt", {}, term), element("dd", {}, labelElement(text, 200))])),
    ...(command ? [element("p", {}, `This policy alone, simulated again where the results lie${results.commands.imports?.length ? " (give the path of each imported file)" : ""}:`), element("pre", { tabindex: 0 }, element("code", {}, command)), copy] : []),
    ...(why ? [element("p", {}, `No command: ${why}`)] : []),
    buttonControl("Close", () => { keptPoint.hidden = true; keptPoint.replaceChildren(); }, { "aria-label": "Close the chosen point" }));
  keptPoint.hidden = false;
  keptPoint.scrollIntoView({ block: "nearest" });
}

// Let the pointer and the keys move over the points of a chart.
//   points: each with x and y in pixels of `area`, its label, facts, and the policy's position or null;
//   mark(point): shows which point is meant; null for none.
function followPoints(area, points, mark) {
  let at = -1;
  const choose = (place, x, y) => {
    at = place;
    mark(points[at]);
    showTip(points[at], x, y);
  };
  const nearest = (x, y) => {
    let best = -1, least = Infinity;
    points.forEach((point, place) => {
      const distance = (point.x - x) ** 2 + (point.y - y) ** 2;
      if (distance < least) [best, least] = [place, distance];
    });
    return best;
  };
  const leave = () => { mark(null); hideTip(); };
  area.addEventListener("pointermove", event => {
    if (!points.length) return;
    const box = area.getBoundingClientRect();
    choose(nearest(event.clientX - box.left, event.clientY - box.top), event.clientX, event.clientY);
  });
  area.addEventListener("pointerleave", leave);
  area.addEventListener("blur", leave);
  area.addEventListener("click", () => { if (at >= 0) keepPoint(points[at]); });
  area.addEventListener("keydown", event => {
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
    if (event.key === "Enter" && at >= 0) keepPoint(points[at]);
    else if (event.key === "Escape") leave();
    else if (event.key in steps && points.length) {
      const place = Math.max(0, Math.min(points.length - 1, at < 0 ? 0 : at + steps[event.key]));
      const box = area.getBoundingClientRect();
      choose(place, box.left + points[place].x, box.top + points[place].y);
    } else return;
    event.preventDefault();
  });
}

// A chart in SVG with its heading, buttons and table.
//   draw(colours): the drawing, with `points` in its pixels, as `followPoints` takes them.
function chartFrame(name, words, draw, columns, rows) {
  const area = element("div", { class: "chart", tabindex: 0, role: "group", "aria-label": `Chart: ${words}. Arrow keys move over its points.` });
  const drawing = draw(palette());
  const ring = svgElement("circle", { r: 6, fill: "none", "stroke-width": 2, stroke: palette().ink, visibility: "hidden" });
  drawing.svg.append(ring);
  drawing.svg.setAttribute("aria-hidden", "true");
  area.append(drawing.svg);
  followPoints(area, drawing.points, point => {
    ring.setAttribute("visibility", point ? "visible" : "hidden");
    if (point) { ring.setAttribute("cx", point.x); ring.setAttribute("cy", point.y); }
  });
  return element("figure", {},
    element("figcaption", {}, element("h2", {}, words)),
    area,
    saveButtons(name, () => draw(LIGHT).svg, columns, rows),
    dataTable(words, columns, rows));
}
