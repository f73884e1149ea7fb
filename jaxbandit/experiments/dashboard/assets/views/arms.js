// The views of arms (selections by T, and fractions, selections and deficits over rounds) and of phases.

const QUANTITIES = { fraction: "selection fraction N_k(t) / t", selections: "selections N_k(t)", deficit: "deficit tau_k t \u2212 N_k(t) (rounds)" };

function armName(arm, place, series) {
  if (results.arms.sorted && series === 0) return ["best arm", "2nd best", "3rd best"][arm] ?? `${arm + 1}th best`;
  return `arm ${arm}, \u03bc = ${numberText(results.arms.means.at(place, series, arm), 4)}`;
}

// Light arms are worse, as in the other figures.
function armColour(rank, count, colours) {
  const shades = results.colourMaps.viridis, place = 0.88 * (count > 1 ? rank / (count - 1) : 0) * (shades.length - 1);
  const colour = mixed(shades[Math.floor(place)], shades[Math.ceil(place)], place % 1);
  return visible(colour, colours);
}

const armSeries = () => Math.min(Number(view.get("armseries")), results.arms.pulls.shape[1] - 1);

// The selections tau_k T that an arm is guaranteed; 0 without fractions.
const guaranteed = (place, series, arm) => (results.arms.fractions ? results.arms.fractions.at(place, series, arm) * results.horizon : 0);

// Selections of each arm by T, with intervals and the guaranteed selections.
function pullsDrawing(colours, width) {
  const { arms } = results, series = armSeries(), places = shownPlaces(), count = arms.count;
  const numbers = places.flatMap(place => [...arms.pulls.row(place, series)]);
  const upper = places.flatMap(place => [...arms.pulls.row(place, series)].map((value, arm) => {
    const half = halfWidth(arms.pullsError.at(place, series, arm), series);
    return Math.max(value + (Number.isFinite(half) ? half : 0), guaranteed(place, series, arm));
  }));
  const high = Math.max(extent(upper)[1], 1) * 1.5;
  const bottom = view.isOn("logpulls") ? Math.max(0.5, Math.min(...numbers.filter(value => value > 0), 1) / 1.5) : 0;
  const every = Math.ceil(count / 16);
  const ticks = Array.from({ length: count }, (_, arm) => [arm, arm % every ? "" : String(arms.sorted && series === 0 ? arm + 1 : arm)]);
  const label = arms.sorted && series === 0 ? "arm, from the best to the worst of its instance" : "arm";
  const drawing = new Drawing(width, 340, colours, { low: -0.6, high: count - 0.4, ticks, label },
    { low: bottom, high: view.isOn("logpulls") ? high : high / 1.4, logarithmic: view.isOn("logpulls"), label: `selections by T = ${countText(results.horizon)}` });
  drawing.points = [];
  const pixel = value => drawing.y.pixel(Math.max(value, view.isOn("logpulls") ? bottom : -Infinity));
  const shapeOf = shapes(places.map(place => ({ position: results.shown[place].policy, series })));
  places.forEach((place, i) => {
    const { policy, colour } = results.shown[place], ink = visible(colour, colours), shape = shapeOf({ position: policy, series });
    for (let arm = 0; arm < count; arm++) {
      const value = arms.pulls.at(place, series, arm), error = arms.pullsError.at(place, series, arm), half = halfWidth(error, series);
      const x = drawing.x.pixel(arm + 0.8 * ((i + 0.5) / places.length - 0.5)), y = pixel(value);
      if (Number.isFinite(half)) drawing.line(x, pixel(value - half), x, pixel(value + half), ink, drawing.plot, { "stroke-width": 1.5 });
      drawing.plot.append(svgElement("path", { d: markOutline(shape, x, y, 3.5), fill: ink }));
      drawing.points.push({
        x, y, label: shownLabel(place), position: policy,
        facts: policyFacts(policy, series, [["arm", armName(arm, place, series)], ["selections by T", intervalText(value, error, series)]]),
      });
    }
  });
  if (arms.fractions) {
    const mark = (from, to, value) => drawing.line(drawing.x.pixel(from), pixel(value), drawing.x.pixel(to), pixel(value), colours.soft, drawing.plot, { "stroke-dasharray": "4 3", class: "guaranteed" });
    for (let arm = 0; arm < count; arm++) {
      const values = places.map(place => guaranteed(place, series, arm));
      if (new Set(values).size === 1) mark(arm - 0.45, arm + 0.45, values[0]);
      else values.forEach((value, i) => mark(arm + 0.8 * (i / places.length - 0.5), arm + 0.8 * ((i + 1) / places.length - 0.5), value));
    }
  }
  drawing.legend([...places.map(place => [visible(results.shown[place].colour, colours), null, shownLabel(place), shapeOf({ position: results.shown[place].policy, series })]),
    ...(arms.fractions ? [[colours.soft, [2, 1.5], "guaranteed, \u03c4_k T"]] : [])]);
  return drawing;
}

function pullsRows() {
  const { arms } = results, series = armSeries();
  const columns = ["policy", "arm", "mean reward", "selections by T", "standard error", ...(arms.fractions ? ["fraction"] : [])];
  const rows = shownPlaces().flatMap(place => Array.from({ length: arms.count }, (_, arm) => [
    shownLabel(place), arm, arms.means.at(place, series, arm), arms.pulls.at(place, series, arm), arms.pullsError.at(place, series, arm),
    ...(arms.fractions ? [arms.fractions.at(place, series, arm)] : [])]));
  return [columns, rows];
}

// The place of the first round from which lines are drawn: in the first K rounds fractions leap.
function firstRound(count) {
  const place = results.rounds.values.findIndex(round => round >= count);
  return place < 0 || place > results.rounds.values.length - 2 ? 0 : place;
}

// One policy's arms over rounds.
function armsChart(colours) {
  const { arms } = results, place = Number(view.get("armpolicy")), quantity = view.get("quantity");
  const series = Math.min(armSeries(), arms.curves.mean.shape[1] - 1), late = firstRound(arms.count), rounds = results.rounds.values.slice(late);
  const means = arms.means.row(place, series);
  const ranks = Array.from(means, mean => means.filter(other => other > mean).length);
  const lines = ranks.map((rank, arm) => {
    const [count, error] = [arms.curves.mean, arms.curves.error].map(numbers => numbers.row(place, series, arm).slice(late));
    const tau = arms.fractions ? arms.fractions.at(place, series, arm) : 0;
    const value = { fraction: (n, t) => n / t, selections: n => n, deficit: (n, t) => tau * t - n }[quantity];
    return {
      label: armName(arm, place, series), colour: armColour(rank, arms.count, colours), dash: [], width: 1.4,
      position: results.shown[place].policy, series, valueName: QUANTITIES[quantity],
      values: Float64Array.from(count, (n, i) => value(n, rounds[i])),
      errors: Float64Array.from(error, (one, i) => (quantity === "fraction" ? one / rounds[i] : one)),
    };
  });
  if (arms.fractions && quantity === "fraction") {
    const different = [...new Set(arms.fractions.row(place, series))];
    for (const tau of different.slice(0, 12)) {
      lines.push({
        label: `guaranteed, \u03c4 = ${numberText(tau)}`, colour: colours.soft, dash: [4, 3], width: 1, position: null, series,
        valueName: "guaranteed fraction", values: new Float64Array(rounds.length).fill(tau), errors: null,
      });
    }
  }
  return {
    name: `arms-${quantity}`, words: `${QUANTITIES[quantity]} of each arm: ${shownLabel(place)}`, yLabel: QUANTITIES[quantity], rounds, lines,
    logarithmicRounds: view.isOn("logarms"), logarithmicValues: false, band: view.isOn("band"), legend: true,
  };
}

const armsView = {
  name: "arms", title: "Arms",
  offered: () => true,
  declare() {
    view.declare("armpolicy", 0, isNumberBelow(results.shown.length));
    view.declare("armseries", 0, isNumberBelow(results.instances.length + 1));
    view.declare("quantity", "fraction", Object.keys(QUANTITIES).filter(name => name !== "deficit" || results.arms.fractions));
    view.declare("logarms", 1, ["0", "1"]);
    view.declare("logpulls", 1, ["0", "1"]);
  },
  controls() {
    const series = Array.from({ length: results.arms.pulls.shape[1] }, (_, one) => [one, results.instances.length > 1 ? seriesName(one) : "0"]);
    const kept = Object.entries(QUANTITIES).filter(([name]) => name !== "deficit" || results.arms.fractions);
    return [
      ...(series.length > 1 ? [selectControl("armseries", "instance", series)] : []),
      switchControl("logpulls", "logarithmic selections"),
      ...(results.arms.curves ? [
        selectControl("armpolicy", "policy over rounds", results.shown.map((_, place) => [place, shownLabel(place)])),
        selectControl("quantity", "quantity", kept), switchControl("logarms", "logarithmic rounds"),
        switchControl("band", "95 % bands", results.seeds === 1 ? "With one run there is no band." : ""),
      ] : []),
    ];
  },
  draw() {
    const [columns, rows] = pullsRows(), width = chartWidth();
    const words = `Selections of each arm by T = ${countText(results.horizon)}: mean over ${sampleWords([armSeries()])}`;
    const made = [chartFrame("selections", words, colours => pullsDrawing(colours, width), columns, rows)];
    if (results.arms.curves) {
      made.push(lineChart(armsChart(palette()), 360));
      if (Number(view.get("armseries")) >= results.arms.curves.mean.shape[1]) made.push(element("p", {}, "Of this instance the page has no curves; the chart shows the mean over instances."));
    } else made.push(element("p", { class: "hint" }, "There are no curves of selections: they need several recorded rounds and `pulls_mean`."));
    return made;
  },
};

// Shares of the rounds in each phase, as bars.
function phasesDrawing(colours, width) {
  const { names, rounds } = results.phases;
  const places = shownPlaces().filter(place => rounds.row(place).some(Number.isFinite));
  const ticks = places.map((place, row) => [row, shortened(shownLabel(place), 24)]);
  const drawing = new Drawing(width, 70 + 46 * Math.max(places.length, 1), colours,
    { low: 0, high: 1, label: `share of the T = ${countText(results.horizon)} rounds` },
    { low: Math.max(places.length, 1) - 0.5, high: -0.5, ticks, label: "" }, { left: 190 });
  drawing.points = [];
  places.forEach((place, row) => {
    let from = 0;
    const held = Array.from(rounds.row(place)).filter(Number.isFinite);
    held.forEach((spent, phase) => {
      const share = spent / results.horizon, colour = mixed(results.shown[place].colour, "#ffffff", 0.75 * (1 - phase / Math.max(held.length - 1, 1)));
      const [x, to] = [drawing.x.pixel(from), drawing.x.pixel(from + share)];
      drawing.plot.append(svgElement("rect", { x, y: drawing.y.pixel(row) - 16, width: Math.max(to - x, 0), height: 32, fill: colour, stroke: colours.paper }));
      const ink = luminance(colour) < 0.3 ? "#ffffff" : "#000000";
      const percent = `${Math.round(100 * share)} %`, whole = `${names[place][phase]}: ${percent}`;
      const text = to - x > 8 * whole.length ? whole : to - x > 34 ? percent : "";
      if (text) drawing.plot.append(svgElement("text", { x: (x + to) / 2, y: drawing.y.pixel(row) + 4, "text-anchor": "middle", fill: ink }, text));
      drawing.points.push({
        x: (x + to) / 2, y: drawing.y.pixel(row), label: shownLabel(place), position: results.shown[place].policy,
        facts: policyFacts(results.shown[place].policy, 0, [["phase", names[place][phase]], ["rounds, mean over runs", numberText(spent)], ["share", numberText(share, 4)]]),
      });
      from += share;
    });
  });
  return drawing;
}

const phasesView = {
  name: "phases", title: "Phases",
  offered: () => results.phases !== null,
  declare() {},
  controls: () => [],
  draw() {
    const { names, rounds } = results.phases, width = chartWidth();
    const rows = shownPlaces().flatMap(place => Array.from(rounds.row(place)).map((spent, phase) => [shownLabel(place), names[place][phase], spent]).filter(row => Number.isFinite(row[2])));
    const words = `Rounds in each phase: mean over ${results.sample}`;
    return [chartFrame("phases", words, colours => phasesDrawing(colours, width), ["policy", "phase", "mean rounds"], rows)];
  },
};
