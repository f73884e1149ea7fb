// The view of trade-offs: any two metrics at T against each other.

const MOST_SINGLE = 400; // points that are drawn one by one with their intervals; more make a cloud
const SHADES = 16;
const MOST_FAMILIES = 24; // in the legend

const severalSeries = entries => new Set(entries.map(entry => entry.series)).size > 1;

// A function from entries to the shapes of their marks: by the instance where several are shown, else by the family among those of one kind.
function shapes(entries) {
  if (severalSeries(entries)) return entry => entry.series % SHAPES;
  const ofKind = new Map();
  for (const { position } of entries) {
    const kind = results.policies.kind.values[position], families = ofKind.get(kind) ?? [];
    if (!families.includes(familyOf(position))) families.push(familyOf(position));
    ofKind.set(kind, families);
  }
  return ({ position }) => ofKind.get(results.policies.kind.values[position]).indexOf(familyOf(position)) % SHAPES;
}

// The value of a metric at T and its standard error.
const finalOf = (metric, position, series) => [metric.final.mean.at(position, series, 0), metric.final.error.at(position, series, 0)];
const metricNamed = name => results.metrics.find(metric => metric.name === name);
const hiddenPolicies = () => new Set(view.get("hide") === view.defaults.hide ? [] : view.list("hide").map(place => results.shown[place].policy));

// The policies and series to draw: all, except the ones that the user switched off.
function cloudEntries(metrics) {
  const hidden = hiddenPolicies(), entries = [];
  const limit = Math.min(...metrics.map(metric => metric.final.mean.shape[1]));
  for (let position = 0; position < results.policies.labels.length; position++) {
    if (!hidden.has(position)) for (const series of chosenSeries(limit)) entries.push({ position, series });
  }
  return entries;
}

// A function from positions to colours: by the policy, or light to dark by a parameter.
function colouring(name, colours) {
  const own = new Map(results.shown.map(({ policy, colour }) => [policy, colour]));
  const base = position => results.policies.colours[results.policies.family.values[position]];
  const parameter = results.parameters.find(one => one.name === name);
  if (!parameter) return position => visible(own.get(position) ?? base(position), colours);
  const values = Array.from(parameter.values.values);
  const [low, high] = extent(values), logarithmic = low > 0 && high >= 20 * low;
  const share = scale(low, high, 0, 1, logarithmic);
  return position => {
    const value = values[position];
    if (Number.isNaN(value)) return visible(base(position), colours);
    const place = Math.round((high > low ? share.pixel(value) : 1) * (SHADES - 1)) / (SHADES - 1);
    return visible(mixed(base(position), "#ffffff", 0.8 * (1 - place)), colours);
  };
}

function cloudDrawing(entries, x, y, colours, width) {
  const [logX, logY] = [view.isOn("logx"), view.isOn("logy")];
  const usable = entries.map(entry => ({ ...entry, x: finalOf(x, entry.position, entry.series), y: finalOf(y, entry.position, entry.series) }))
    .filter(entry => Number.isFinite(entry.x[0]) && Number.isFinite(entry.y[0]) && (!logX || entry.x[0] > 0) && (!logY || entry.y[0] > 0));
  const single = usable.length <= MOST_SINGLE; // with intervals, which belong to the range
  const ends = ([value, error], series) => (single && Number.isFinite(error) ? [value - halfWidth(error, series), value, value + halfWidth(error, series)] : [value]);
  const range = (name, logarithmic) => {
    const values = usable.flatMap(entry => ends(entry[name], entry.series)).filter(value => !logarithmic || value > 0);
    const least = extent(usable.map(entry => entry[name][0]))[0] / 10; // an interval may come close to 0
    return padded(logarithmic ? values.map(value => Math.max(value, least)) : values, logarithmic);
  };
  const [xLow, xHigh] = range("x", logX), [yLow, yHigh] = range("y", logY);
  const drawing = new Drawing(width, 440, colours, { low: xLow, high: xHigh, logarithmic: logX, label: `${x.label} at T` },
    { low: yLow, high: yHigh, logarithmic: logY, label: `${y.label} at T` });
  const colourOf = colouring(view.get("colour"), colours);
  const shapeOf = shapes(usable);
  const clouds = new Map(); // by the colour, the steps of a path: ten thousand circles would be slow
  drawing.points = usable.map(entry => {
    const at = { x: drawing.x.pixel(entry.x[0]), y: drawing.y.pixel(entry.y[0]) }, colour = colourOf(entry.position);
    if (single) {
      const [wide, tall] = [halfWidth(entry.x[1], entry.series), halfWidth(entry.y[1], entry.series)];
      const clipped = (axis, value) => axis.pixel(axis.logarithmic ? Math.max(value, axis.low) : value);
      if (Number.isFinite(wide)) drawing.line(clipped(drawing.x, entry.x[0] - wide), at.y, drawing.x.pixel(entry.x[0] + wide), at.y, colour);
      if (Number.isFinite(tall)) drawing.line(at.x, clipped(drawing.y, entry.y[0] - tall), at.x, drawing.y.pixel(entry.y[0] + tall), colour);
    }
    if (!clouds.has(colour)) clouds.set(colour, []);
    clouds.get(colour).push(single ? markOutline(shapeOf(entry), at.x, at.y, 4) : `M${at.x.toFixed(1)} ${at.y.toFixed(1)}h0`);
    const label = results.policies.labels[entry.position];
    const facts = policyFacts(entry.position, entry.series, [[x.label, intervalText(...entry.x, entry.series)], [y.label, intervalText(...entry.y, entry.series)]]);
    return { ...at, label, position: entry.position, facts };
  });
  const size = usable.length <= 2000 ? 5 : 3.5;
  for (const [colour, steps] of clouds) {
    drawing.plot.append(svgElement("path", single ? { d: steps.join(""), fill: colour }
      : { d: steps.join(""), stroke: colour, "stroke-width": size, "stroke-linecap": "round", fill: "none" }));
  }
  const families = new Map(); // by the name, the entries
  for (const entry of usable) {
    const name = familyOf(entry.position);
    if (!families.has(name)) families.set(name, []);
    families.get(name).push(entry);
  }
  const isBest = ([, members]) => members.some(entry => markOf(entry.position) === "best");
  const sorted = [...families].sort((one, other) => isBest(other) - isBest(one));
  const legend = sorted.slice(0, MOST_FAMILIES).map(([name, members]) => {
    const alone = new Set(members.map(entry => entry.position)).size === 1;
    const colour = alone ? colourOf(members[0].position) : visible(results.policies.colours[results.policies.families.indexOf(name)], colours);
    return [colour, null, name, single && !severalSeries(usable) ? shapeOf(members[0]) : 0];
  });
  if (sorted.length > MOST_FAMILIES) legend.push(["none", null, `and ${countText(sorted.length - MOST_FAMILIES)} more`]);
  if (single && severalSeries(usable)) for (const series of new Set(usable.map(entry => entry.series))) legend.push([colours.soft, null, series ? `instance ${seriesName(series)}` : seriesName(0), series % SHAPES]);
  drawing.legend(legend);
  return drawing;
}

const cloudsView = {
  name: "tradeoffs", title: "Trade-offs",
  offered: () => results.metrics.length > 1,
  declare() {
    const names = results.metrics.map(metric => metric.name);
    const first = ["unfairness", "fairness_regret", names[1]].find(name => names.includes(name));
    const second = ["regret", "reward_regret", names[0]].find(name => names.includes(name) && name !== first) ?? names[0];
    view.declare("x", first, names);
    view.declare("y", second, names);
    view.declare("colour", "policy", ["policy", ...results.parameters.map(parameter => parameter.name)]);
    view.declare("logx", 0, ["0", "1"]);
    view.declare("logy", 0, ["0", "1"]);
  },
  controls() {
    const metrics = results.metrics.map(metric => [metric.name, metric.label]);
    return [
      selectControl("x", "across", metrics), selectControl("y", "up", metrics),
      ...(results.parameters.length ? [selectControl("colour", "colour by", [["policy", "policy"], ...results.parameters.map(one => [one.name, ofPolicy(one.name)])])] : []),
      switchControl("logx", "logarithmic across"), switchControl("logy", "logarithmic up"),
    ];
  },
  draw() {
    const [x, y] = ["x", "y"].map(name => metricNamed(view.get(name))), entries = cloudEntries([x, y]), width = chartWidth();
    const columns = ["policy", ...(results.instances.length > 1 ? ["instance"] : []), x.label, `${x.label}: standard error`, y.label, `${y.label}: standard error`];
    const rows = entries.map(({ position, series }) => [results.policies.labels[position],
      ...(results.instances.length > 1 ? [seriesName(series)] : []), ...finalOf(x, position, series), ...finalOf(y, position, series)]);
    const words = `${y.label} against ${x.label} at T = ${countText(results.horizon)}: mean over ${sampleWords([...new Set(entries.map(entry => entry.series))])}`;
    const made = [chartFrame("trade-off", words, colours => cloudDrawing(entries, x, y, colours, width), columns, rows)];
    if (!entries.length) made.unshift(element("p", {}, "No policy is chosen."));
    const isBelow = (name, metric) => view.isOn(name) ? entry => finalOf(metric, entry.position, entry.series)[0] <= 0 : () => false;
    const left = entries.filter(entry => isBelow("logx", x)(entry) || isBelow("logy", y)(entry)).length;
    if (left) made.push(element("p", { class: "hint" }, `${counted(left, "point has a value", "points have values")} at or below 0, which ${left === 1 ? "has" : "have"} no place on a logarithmic axis.`));
    const parameter = results.parameters.find(one => one.name === view.get("colour"));
    if (parameter) {
      const values = gridValues(parameter, entries.map(entry => entry.position));
      const [first, last] = [values[0], values[values.length - 1]].map(value => (value === undefined ? "none" : valueText(parameter, value)));
      made.push(element("p", { class: "hint" }, `From light to dark: ${ofPolicy(parameter.name)} from ${shortened(first, 40)} to ${shortened(last, 40)}.`));
    }
    return made;
  },
};
