// Charts of lines over rounds: uPlot draws them on the page, SVG when they are saved.
//
// A chart has: name, words (its heading), yLabel, rounds, logarithmicRounds, logarithmicValues, band, lines, and legend: whether
// the page shows one (the sidebar is that of lines of policies). A line has:
// label, colour, dash, width, values and errors (null for none), position (of its policy), series, valueName.

const MOST_ENTRIES = 24; // of a legend on the page

// The number above which values have a place on the axis. On a logarithmic one, values below 1e-12 of the largest count as 0:
// they are what rounding leaves of differences that are 0.
function leastPlotted(chart) {
  if (!chart.logarithmicValues) return -Infinity;
  const measured = chart.lines.filter(line => line.errors); // bounds of theorems may be larger by any factor
  return 1e-12 * measured.reduce((most, line) => line.values.reduce((one, value) => (Number.isFinite(value) ? Math.max(one, value) : one), most), 0);
}

// A line's values as uPlot takes them: null where there is none, or none that has a place on the axis.
function plottable(values, least) {
  return Array.from(values, value => (Number.isFinite(value) && value > least ? value : null));
}

function bandOf(line) {
  if (!line.errors || !line.errors.some(Number.isFinite)) return null;
  return [1, -1].map(side => Array.from(line.values, (value, i) => value + side * halfWidth(line.errors[i], line.series)));
}

function pointOnLine(chart, line, place) {
  const round = chart.rounds[place];
  const value = intervalText(line.values[place], line.errors ? line.errors[place] : NaN, line.series);
  const unit = line.errors && Number.isFinite(line.errors[place]) ? " (95 % confidence)" : "";
  const facts = [["round t", countText(round)], [line.valueName, value + unit]];
  return {
    label: line.label, position: line.position,
    facts: line.position === null ? facts : policyFacts(line.position, line.series, facts),
  };
}

function chartTable(chart) {
  const columns = ["round t", ...chart.lines.flatMap(line => (line.errors ? [line.label, `${line.label}: standard error`] : [line.label]))];
  const rows = Array.from(chart.rounds, (round, i) =>
    [round, ...chart.lines.flatMap(line => (line.errors ? [line.values[i], line.errors[i]] : [line.values[i]]))]);
  return [columns, rows];
}

function lineDrawing(chart, colours) {
  const rounds = Array.from(chart.rounds);
  const shown = chart.lines.flatMap(line => [...line.values, ...(chart.band ? (bandOf(line) ?? []).flat() : [])]);
  const least = leastPlotted(chart);
  const [low, high] = padded(shown.filter(value => Number.isFinite(value) && value > least), chart.logarithmicValues);
  const first = chart.logarithmicRounds ? rounds[0] : 0;
  const drawing = new Drawing(760, 460, colours,
    { low: first, high: rounds[rounds.length - 1], logarithmic: chart.logarithmicRounds, label: "round t" },
    { low, high, logarithmic: chart.logarithmicValues, label: chart.yLabel });
  const pixels = (values) => plottable(values, least)
    .map((value, i) => (value === null ? null : [drawing.x.pixel(rounds[i]), drawing.y.pixel(value)]));
  for (const line of chart.lines) {
    const band = chart.band ? bandOf(line) : null;
    if (band) {
      const [upper, lower] = band.map(values => pixels(values).filter(point => point !== null));
      drawing.path([...upper, ...lower.reverse()], { fill: line.colour, "fill-opacity": 0.18, stroke: "none" });
    }
    drawing.path(pixels(line.values), { stroke: line.colour, "stroke-width": line.width, "stroke-dasharray": line.dash.map(one => one * line.width).join(" ") || null });
  }
  drawing.legend(chart.lines.map(line => [line.colour, line.dash, line.label]));
  return drawing;
}

// The chart on the page.
function lineChart(chart, height) {
  const area = element("div", { class: "chart", tabindex: 0, role: "group", "aria-label": `Chart: ${chart.words}. Left and right move over rounds, up and down over lines.` });
  const [columns, rows] = chartTable(chart);
  const figure = element("figure", {},
    element("figcaption", {}, element("h2", {}, chart.words)),
    area,
    saveButtons(chart.name, () => lineDrawing(chart, LIGHT).svg, columns, rows),
    dataTable(chart.words, columns, rows));
  if (chart.legend) {
    const entries = chart.lines.slice(0, MOST_ENTRIES).map(line => element("li", {}, lineSwatch(line.colour, line.dash), labelElement(line.label, 60)));
    const more = chart.lines.length - entries.length;
    area.after(element("ul", { class: "legend" }, ...entries, ...(more > 0 ? [element("li", {}, `and ${countText(more)} more`)] : [])));
  }
  const least = leastPlotted(chart);
  const left = chart.lines.reduce((sum, line) => sum + line.values.filter(value => value <= least).length, 0);
  if (left) figure.append(element("p", { class: "hint" }, `${countText(left)} values at or below 0 have no place on a logarithmic axis.`));
  requestAnimationFrame(() => drawLines(area, chart, height)); // the width is known once the area stands in the page
  return figure;
}

function drawLines(area, chart, height) {
  const colours = palette(), rounds = Array.from(chart.rounds), least = leastPlotted(chart);
  const data = [rounds], series = [{}], bands = [];
  for (const line of chart.lines) {
    const band = chart.band ? bandOf(line) : null;
    if (band) {
      bands.push({ series: [data.length, data.length + 1], fill: `${line.colour}2e` });
      for (const edge of band) {
        data.push(plottable(edge, least));
        series.push({ stroke: "transparent", width: 0, points: { show: false } });
      }
    }
    line.place = data.length;
    data.push(plottable(line.values, least));
    series.push({ stroke: line.colour, width: line.width, dash: line.dash.map(one => one * line.width), points: { show: false } });
  }
  const axis = (label, size) => ({
    label, stroke: colours.ink, grid: { stroke: colours.faint, width: 1 }, ticks: { stroke: colours.faint, width: 1 },
    font: "12px system-ui, sans-serif", labelFont: "13px system-ui, sans-serif", size,
  });
  const texts = (plot, ticks) => ticks.map(tick => (tick === null ? "" : tickText(tick)));
  const dot = element("div", { class: "dot", hidden: true });
  const plot = new uPlot({
    width: Math.max(area.clientWidth, 200), height, series, bands, legend: { show: false },
    cursor: { points: { show: false }, drag: { x: true, y: false } },
    scales: { x: { time: false, distr: chart.logarithmicRounds ? 3 : 1, range: (_, low, high) => [low, high] }, y: { distr: chart.logarithmicValues ? 3 : 1 } },
    axes: [{ ...axis("round t", 44), values: texts }, { ...axis(chart.yLabel, 76), values: texts }],
  }, data, area);
  plot.over.append(dot);
  followLines(area, plot, chart, dot);
  new ResizeObserver(() => {
    const width = Math.max(area.clientWidth, 200);
    if (Math.abs(width - plot.width) > 1) plot.setSize({ width, height });
  }).observe(area);
}

// Let the pointer and the keys move over the points of the lines.
function followLines(area, plot, chart, dot) {
  let at = -1, line = null;
  const choose = (place, chosen, x, y) => {
    [at, line] = [place, chosen];
    const value = plot.data[line.place][at];
    if (value === null) return;
    dot.hidden = false;
    dot.style.left = `${plot.valToPos(plot.data[0][at], "x")}px`;
    dot.style.top = `${plot.valToPos(value, "y")}px`;
    dot.style.borderColor = line.colour;
    showTip(pointOnLine(chart, line, at), x, y);
  };
  const leave = () => { dot.hidden = true; hideTip(); };
  plot.over.addEventListener("pointermove", event => {
    const box = plot.over.getBoundingClientRect();
    const place = plot.posToIdx(event.clientX - box.left);
    let best = null, least = Infinity;
    for (const one of chart.lines) {
      const value = plot.data[one.place][place];
      const distance = value === null ? Infinity : Math.abs(plot.valToPos(value, "y") - (event.clientY - box.top));
      if (distance < least) [best, least] = [one, distance];
    }
    if (best) choose(place, best, event.clientX, event.clientY);
  });
  plot.over.addEventListener("pointerleave", leave);
  area.addEventListener("blur", leave);
  area.addEventListener("click", () => { if (line) keepPoint(pointOnLine(chart, line, at)); });
  area.addEventListener("keydown", event => {
    if (!chart.lines.length) return;
    const rounds = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10 }, lines = { ArrowDown: 1, ArrowUp: -1 };
    const last = chart.rounds.length - 1;
    if (event.key === "Enter" && line) { keepPoint(pointOnLine(chart, line, at)); event.preventDefault(); return; }
    if (event.key === "Escape") { leave(); return; }
    let place = line ? at : last, which = line ? chart.lines.indexOf(line) : 0;
    if (event.key in rounds) place = Math.max(0, Math.min(last, place + (line ? rounds[event.key] : 0)));
    else if (event.key in lines) which = (which + (line ? lines[event.key] : 0) + chart.lines.length) % chart.lines.length;
    else if (event.key === "Home") place = 0;
    else if (event.key === "End") place = last;
    else return;
    event.preventDefault();
    const value = plot.data[chart.lines[which].place][place] ?? 0, box = plot.over.getBoundingClientRect();
    choose(place, chart.lines[which], box.left + plot.valToPos(plot.data[0][place], "x"), box.top + plot.valToPos(value, "y"));
  });
}
