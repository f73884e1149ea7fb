// The view of curves: metrics against the round.

const withCurves = () => results.metrics.filter(metric => metric.curves);
const isShown = place => !view.list("hide").includes(place);
const shownPlaces = () => results.shown.map((_, place) => place).filter(isShown);
const chosenSeries = limit => view.list("instances").filter(series => series < limit);

function shownLabel(place) {
  const { policy, role } = results.shown[place];
  return results.policies.labels[policy] + (role ? ` [${role}]` : "");
}

// What the ranking metric at T, in the mean over instances, says of a policy: "best", "may be best" (it is in the 95 % confidence set), or nothing.
function markOf(policy) {
  if (results.best.includes(policy)) return "best";
  return results.possible?.includes(policy) ? "may be best" : "";
}

const ofInstance = series => (results.instances.length > 1 && series > 0 ? `, instance ${seriesName(series)}` : "");

function curveLines(metric, colours) {
  const { mean, error } = metric.curves;
  const lines = [];
  for (const place of shownPlaces()) {
    const { policy, colour, dash } = results.shown[place];
    for (const series of chosenSeries(mean.shape[1])) {
      lines.push({
        label: shownLabel(place) + ofInstance(series),
        colour: visible(colour, colours), dash, width: series > 0 ? 1 : markOf(policy) === "best" ? 2.8 : 1.8, position: policy, series,
        values: mean.row(place, series), errors: error.row(place, series), valueName: metric.label,
      });
    }
  }
  return lines;
}

const boundsOn = metric => results.theory.filter(bound => metric.names.includes(bound.metric));

function boundLines(metric, colours) {
  const lines = [];
  for (const bound of boundsOn(metric)) {
    if (!isShown(bound.policy)) continue;
    const { policy, colour } = results.shown[bound.policy];
    for (const series of chosenSeries(bound.values.shape[0])) {
      const values = bound.values.row(series);
      if (!values.some(Number.isFinite)) continue;
      lines.push({
        label: `${shownLabel(bound.policy)}${ofInstance(series)}: ${bound.name}`, colour: visible(colour, colours), dash: [1.5, 3], width: 1.4,
        position: policy, series, values, errors: null, valueName: `${bound.name}, bound`,
      });
    }
  }
  return lines;
}

function curveChart(metric, colours) {
  const lines = curveLines(metric, colours);
  if (view.isOn("theory")) lines.push(...boundLines(metric, colours));
  return {
    name: metric.name, words: `${metric.label}: mean over ${sampleWords(chosenSeries(metric.curves.mean.shape[1]))}`, yLabel: metric.label, rounds: results.rounds.values, lines,
    logarithmicRounds: view.isOn("logrounds"), logarithmicValues: view.isOn("logvalues"), band: view.isOn("band"),
  };
}

const curvesView = {
  name: "curves", title: "Curves",
  offered: () => withCurves().length > 0,
  declare() {
    const names = withCurves().map(metric => metric.name);
    view.declare("metric", names.includes(results.ranking) ? results.ranking : names[0], [...names, "all"]);
    view.declare("band", 1, ["0", "1"]);
    view.declare("theory", 0, ["0", "1"]);
    view.declare("logrounds", 0, ["0", "1"]);
    view.declare("logvalues", 0, ["0", "1"]);
  },
  metrics() {
    return view.get("metric") === "all" ? withCurves() : withCurves().filter(metric => metric.name === view.get("metric"));
  },
  controls() {
    const bounded = this.metrics().some(metric => boundsOn(metric).length);
    const why = bounded ? "" : results.theoryMissing || "No theorem bounds this metric of these policies on this problem.";
    const oneRun = results.seeds === 1 ? "With one run there is no band." : "";
    return [
      selectControl("metric", "metric", [...withCurves().map(metric => [metric.name, metric.label]), ["all", "all metrics"]]),
      switchControl("band", "95 % bands", oneRun),
      switchControl("theory", "bounds of theorems", why),
      switchControl("logrounds", "logarithmic rounds"),
      switchControl("logvalues", "logarithmic values"),
    ];
  },
  draw() {
    const colours = palette(), metrics = this.metrics();
    const charts = metrics.map(metric => lineChart(curveChart(metric, colours), metrics.length > 1 ? 280 : 420));
    const made = [element("div", { class: metrics.length > 1 ? "charts several" : "charts" }, ...charts)];
    if (!shownPlaces().length) made.unshift(element("p", {}, "No policy is chosen."));
    if (!chosenSeries(metrics[0].curves.mean.shape[1]).length) made.unshift(element("p", {}, "The curves of the chosen instances are not in this page; the mean over instances is."));
    const labels = results.best.filter(policy => results.policies.labels.length > 1).map(policy => results.policies.labels[policy]);
    if (labels.length) made.push(element("p", { class: "hint", id: "best" }, "The best (thicker): ", labelElement(labels.join("; "), 200), `. ${bestWords()}`));
    if (metrics.length === 1 && metrics[0].formula) made.push(element("p", { class: "hint" }, metrics[0].formula));
    const bounds = view.isOn("theory") ? metrics.flatMap(boundsOn).filter(bound => isShown(bound.policy)) : [];
    const texts = [...new Set(bounds.map(bound => bound.text))];
    if (texts.length) made.push(element("ul", { class: "hint" }, ...texts.map(text => element("li", {}, text))));
    return made;
  },
};
