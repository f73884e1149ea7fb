// The page: its head, the choice of policies and instances, and the chosen view.

const VIEWS = [curvesView, armsView, phasesView, cloudsView, gridsView, tableView];

const aboutView = {
  name: "about", title: "About",
  offered: () => true,
  declare() {},
  controls: () => [],
  draw() {
    const { versions, metrics, config } = results;
    const formulas = metrics.flatMap(metric => [element("dt", {}, metric.label), element("dd", {}, metric.formula || "a metric of the user")]);
    return [
      element("h2", {}, "About these results"),
      element("p", {}, `Simulated with jaxbandit ${versions.jaxbandit_version} and JAX ${versions.jax_version} on ${versions.device}. Numbers are means over ${results.sample}${results.seeds > 1 ? " with 95 % confidence intervals" : ""}.`),
      element("h2", {}, "Metrics"), element("dl", {}, ...formulas),
      element("h2", {}, "Keys"),
      element("p", {}, "Tab moves to a control or a chart. On a chart the arrow keys move over its points, Enter keeps a point below, Escape leaves."),
      element("h2", {}, "Config"),
      element("p", {}, `${results.file} holds this config: jaxbandit run ${results.file} simulates it again. In Python, results.to_netcdf("results.nc") writes such a file.`),
      element("pre", { tabindex: 0, id: "config" }, element("code", {}, config)),
      buttonControl("Save config.toml", () => download("config.toml", "text/plain", config)),
    ];
  },
};

let offered = []; // the views that these results have
const controls = element("div", { id: "controls", role: "group", "aria-label": "Choices of this view" });
const chartArea = element("div", { id: "charts" });
const sidebar = element("aside", { id: "sidebar", "aria-label": "Policies and instances" });
const navigation = element("nav", { "aria-label": "Views" });

const chartWidth = () => Math.max(300, Math.min(chartArea.clientWidth || 760, 1100));

// A list of switches, with buttons for all and none. `isOn` and `turn` take the place of an entry.
function switches(title, entries, isOn, turn, setAll) {
  const list = element("div", { class: "switches" }, ...entries.map(({ text, mark, colour, dash }, place) => {
    const id = `${title}-${place}`;
    const box = element("input", { type: "checkbox", id, checked: isOn(place), onchange: event => turn(place, event.target.checked) });
    const swatch = colour ? lineSwatch(colour, dash) : null;
    return element("label", { for: id, title: mark || null, class: mark === "best" ? "best" : null }, box, swatch, labelElement(text, 80));
  }));
  return element("fieldset", {}, element("legend", {}, title),
    element("div", {}, buttonControl("all", () => setAll(true), { id: `${title}-all`, "aria-label": `all ${title}` }), buttonControl("none", () => setAll(false), { id: `${title}-none`, "aria-label": `no ${title}` })), list);
}

function drawSidebar() {
  const colours = palette(), hidden = new Set(view.list("hide"));
  const all = results.shown.map((_, place) => place);
  const hide = places => view.choose({ hide: [...places].sort((one, other) => one - other).join(".") });
  const policies = switches("policies", all.map(place => ({ text: shownLabel(place), mark: markOf(results.shown[place].policy), colour: visible(results.shown[place].colour, colours), dash: results.shown[place].dash })),
    place => !hidden.has(place), (place, on) => { if (on) hidden.delete(place); else hidden.add(place); hide(hidden); }, on => hide(on ? [] : all));
  const every = results.policies.labels.length, on = all.length - hidden.size;
  const made = [...(on < every ? [element("p", { class: "hint", id: "shown-count" }, `${countText(on)} of ${countText(every)} policies shown`)] : []), policies];
  const more = results.policies.labels.length - results.shown.length;
  if (more) made.push(element("p", { class: "hint" }, `${counted(more, "more policy is", "more policies are")} in ${offered.filter(one => ["table", "tradeoffs", "grid"].includes(one.name)).map(one => one.title).join(", ")}; their curves are not in this page.`));
  if (results.instances.length > 1) {
    const chosen = new Set(view.list("instances")), names = [0, ...results.instances.map((_, i) => i + 1)];
    const keep = places => view.choose({ instances: [...places].sort((one, other) => one - other).join(".") });
    made.push(switches("instances", names.map(series => ({ text: series === 0 ? seriesName(0) : `instance ${seriesName(series)}` })),
      series => chosen.has(series), (series, on) => { if (on) chosen.add(series); else chosen.delete(series); keep(chosen); }, on => keep(on ? names : [])));
  }
  sidebar.replaceChildren(...made);
}

function drawNavigation() {
  navigation.replaceChildren(...offered.map(one => buttonControl(one.title, () => view.choose({ view: one.name }),
    { id: `view-${one.name}`, "aria-current": view.get("view") === one.name ? "page" : null })));
}

// Draw the chosen view. The element that had the focus gets it again where it is made anew.
function redraw(remakeControls = true) {
  const chosen = offered.find(one => one.name === view.get("view"));
  const focused = document.activeElement?.id, scrolled = [sidebar, ...sidebar.querySelectorAll(".switches")].map(one => one.scrollTop);
  hideTip();
  document.documentElement.dataset.theme = palette().dark ? "dark" : "light";
  if (remakeControls) {
    drawNavigation();
    drawSidebar();
    [sidebar, ...sidebar.querySelectorAll(".switches")].forEach((one, i) => { one.scrollTop = scrolled[i] ?? 0; });
    controls.replaceChildren(...chosen.controls());
  }
  chartArea.replaceChildren(...chosen.draw());
  if (remakeControls && focused) document.getElementById(focused)?.focus();
}

function head() {
  const themes = element("label", { class: "control", for: "choice-theme" }, element("span", {}, "colours"),
    element("select", { id: "choice-theme", onchange: event => view.choose({ theme: event.target.value }) },
      ...[["auto", "as the system"], ["light", "light"], ["dark", "dark"]].map(([value, text]) => element("option", { value, selected: view.get("theme") === value }, text))));
  const link = view.inFile ? buttonControl("Copy link to this view", event => copyText(window.location.href, event.target), { id: "copy-link" }) : null;
  return element("header", {},
    element("div", {}, element("h1", {}, labelElement(results.title, 200)),
      element("p", {}, `T = ${counted(results.horizon, "round")}, ${counted(results.policies.labels.length, "policy", "policies")}, ${counted(results.arms.count, "arm")}, ${results.sample}`)),
    element("div", { class: "row" }, themes, ...(link ? [link] : [])));
}

function declareAll() {
  const off = results.shown.map((_, place) => place).filter(place => !results.ticked.includes(place)).join(".");
  offered = [...VIEWS.filter(one => one.offered()), aboutView];
  view.declare("view", offered[0].name, offered.map(one => one.name));
  view.declare("theme", "auto", ["auto", "light", "dark"]);
  view.declare("hide", off, isListBelow(results.shown.length));
  view.declare("instances", "0", isListBelow(results.instances.length + 1));
  view.declare("band", 1, ["0", "1"]);
  for (const one of offered) one.declare();
}

async function start() {
  try {
    results = await unpacked(document.getElementById("data").textContent);
  } catch (error) {
    document.body.append(element("p", { role: "alert" }, `This page cannot be shown: ${error.message}. It needs a browser of 2023 or later.`));
    throw error;
  }
  declareAll();
  view.read();
  const main = element("main", {}, navigation, controls, chartArea, keptPoint);
  document.body.append(head(), element("div", { id: "body" }, sidebar, main), tip);
  view.redraw = redraw;
  redraw();
  window.addEventListener("hashchange", () => { view.read(); redraw(); });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraw());
  let width = window.innerWidth;
  window.addEventListener("resize", () => { if (Math.abs(window.innerWidth - width) > 40) { width = window.innerWidth; redraw(false); } });
  document.body.dataset.ready = "1";
}

start();
