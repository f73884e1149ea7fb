// The view of a grid: heat maps over two parameters and sweeps over one, with sliders for the others.

// The values of a parameter among some policies: numbers in order, words as they come.
function gridValues(parameter, positions) {
  const values = [...new Set(positions.map(position => parameter.values.values[position]))]
    .filter(value => !Number.isNaN(value) && !(parameter.words && value < 0));
  return parameter.words ? values : values.sort((one, other) => one - other);
}

const valueText = (parameter, value) => (parameter.words ? parameter.words[value] : shortNumber(value));

// The families that vary parameters, each with its policies and the values of these parameters.
function gridFamilies() {
  const positions = new Map(results.policies.families.map(name => [name, []]));
  for (let position = 0; position < results.policies.labels.length; position++) positions.get(familyOf(position)).push(position);
  const families = [];
  for (const [name, own] of positions) {
    const axes = results.parameters.map(parameter => ({ parameter, values: gridValues(parameter, own) })).filter(axis => axis.values.length > 1);
    if (axes.length) families.push({ name, positions: own, axes });
  }
  return families;
}

const gridsView = {
  name: "grid", title: "Grid",
  families: [],
  offered: () => gridFamilies().length > 0 && results.metrics.length > 0,
  declare() {
    this.families = gridFamilies();
    const names = results.metrics.map(metric => metric.name), most = Math.max(...this.families.map(family => family.axes.length));
    view.declare("family", 0, isNumberBelow(this.families.length));
    view.declare("gridmetric", names.includes(results.ranking) ? results.ranking : names[0], names);
    view.declare("gridchart", most > 1 ? "map" : "sweep", ["map", "sweep"]);
    view.declare("gridx", 0, isNumberBelow(most));
    view.declare("gridy", 1, isNumberBelow(most));
    view.declare("fixed", "", isListBelow(1e6));
    view.declare("gridseries", 0, isNumberBelow(results.instances.length + 1));
  },
  // The chosen family, its axes across and up (null for a sweep without lines), and the places of the sliders.
  choice() {
    const family = this.families[Number(view.get("family"))], count = family.axes.length;
    const x = Math.min(Number(view.get("gridx")), count - 1);
    let y = Math.min(Number(view.get("gridy")), count - 1);
    if (y === x) y = x === 0 ? 1 : 0;
    const map = view.get("gridchart") === "map" && count > 1;
    const kept = view.list("fixed");
    const places = family.axes.map((axis, i) => Math.min(kept[i] ?? 0, axis.values.length - 1));
    return { family, x, y: count > 1 ? y : null, map, places };
  },
  controls() {
    const { family, x, y, map, places } = this.choice();
    const axes = family.axes.map((axis, i) => [i, ofPolicy(axis.parameter.name)]);
    const series = Array.from({ length: metricNamed(view.get("gridmetric")).final.mean.shape[1] }, (_, one) => one);
    const sliders = family.axes.flatMap((axis, i) => {
      if (i === x || i === y) return [];
      const texts = axis.values.map(value => valueText(axis.parameter, value));
      return [sliderControl(`slider-${i}`, ofPolicy(axis.parameter.name), texts, places[i], moved => {
        const next = this.choice().places;
        next[i] = moved;
        view.choose({ fixed: next.join(".") }, false);
      })];
    });
    return [
      ...(this.families.length > 1 ? [selectControl("family", "grid", this.families.map((one, i) => [i, one.name]))] : []),
      selectControl("gridmetric", "metric", results.metrics.map(metric => [metric.name, metric.label])),
      ...(family.axes.length > 1 ? [selectControl("gridchart", "chart", [["map", "heat map"], ["sweep", "lines"]])] : []),
      ...(axes.length > 1 ? [selectControl("gridx", "across", axes), selectControl("gridy", map ? "up" : "one line per", axes.filter(([i]) => i !== x))] : []),
      ...(series.length > 1 ? [selectControl("gridseries", "instance", series.map(one => [one, seriesName(one)]))] : []),
      ...sliders,
    ];
  },
  // The policies at the chosen values of the other parameters: by the value across and up.
  cells() {
    const { family, x, y, places } = this.choice();
    const fixed = family.axes.flatMap((axis, i) => (i === x || i === y ? [] : [[axis.parameter.values.values, axis.values[places[i]]]]));
    const across = family.axes[x], up = y === null ? null : family.axes[y];
    const columns = new Map(across.values.map((value, i) => [value, i])), lines = new Map((up ? up.values : [0]).map((value, i) => [value, i]));
    const cells = [];
    for (const position of family.positions) {
      if (!fixed.every(([values, value]) => values[position] === value)) continue;
      const column = columns.get(across.parameter.values.values[position]), row = up ? lines.get(up.parameter.values.values[position]) : 0;
      if (column !== undefined && row !== undefined) cells.push({ position, column, row });
    }
    return { across, up, cells };
  },
  draw() {
    const metric = metricNamed(view.get("gridmetric")), { family, map } = this.choice(), { across, up, cells } = this.cells();
    const series = Math.min(Number(view.get("gridseries")), metric.final.mean.shape[1] - 1), width = chartWidth();
    const names = [across, ...(up ? [up] : [])].map(axis => ofPolicy(axis.parameter.name));
    const rows = cells.map(({ position, column, row }) => [results.policies.labels[position], valueText(across.parameter, across.values[column]),
      ...(up ? [valueText(up.parameter, up.values[row])] : []), ...finalOf(metric, position, series)]);
    const which = results.instances.length > 1 ? `, ${series ? `instance ${seriesName(series)}` : seriesName(0)}` : "";
    const words = `${metric.label} at T = ${countText(results.horizon)} over ${names.join(" and ")}: ${family.name}${which}`;
    const draw = map ? mapDrawing : sweepDrawing;
    return [chartFrame("grid", words, colours => draw(metric, series, across, up, cells, colours, width), ["policy", ...names, metric.label, "standard error"], rows)];
  },
};

function cellPoint(metric, series, position, x, y) {
  const value = intervalText(...finalOf(metric, position, series), series);
  return { x, y, label: results.policies.labels[position], position, facts: policyFacts(position, series, [[metric.label, value]]) };
}

// Texts of the values at an axis, at most so many.
function axisTicks(axis, most) {
  const every = Math.ceil(axis.values.length / most);
  return axis.values.map((value, i) => [i, i % every ? "" : shortened(valueText(axis.parameter, value), 12)]);
}

// The best cell on each problem: numbers on different problems are not comparable.
function bestCells(metric, values, across, up, cells) {
  const ofProblem = [across, up].map(axis => axis.parameter.name.startsWith("problem."));
  if (ofProblem[0] && ofProblem[1]) return [];
  const bests = new Map();
  cells.forEach(({ column, row }, i) => {
    const problem = ofProblem[0] ? column : ofProblem[1] ? row : 0, best = bests.get(problem);
    if (best === undefined || (metric.larger ? values[i] > values[best] : values[i] < values[best])) bests.set(problem, i);
  });
  return [...bests.values()];
}

function mapDrawing(metric, series, across, up, cells, colours, width) {
  const columns = across.values.length, rows = up.values.length;
  const height = Math.max(180, Math.min(520, 60 + 34 * rows));
  const drawing = new Drawing(width, height, colours,
    { low: -0.5, high: columns - 0.5, ticks: axisTicks(across, Math.floor(width / 60)), label: ofPolicy(across.parameter.name) },
    { low: -0.5, high: rows - 0.5, ticks: axisTicks(up, 20), label: ofPolicy(up.parameter.name) }, { left: 110, right: 90 });
  const values = cells.map(({ position }) => finalOf(metric, position, series)[0]);
  const [low, high] = extent(values), logarithmic = low > 0 && high >= 5 * low;
  const shades = results.colourMaps[metric.larger ? "cividis" : "cividis_r"], share = scale(low, high, 0, 1, logarithmic);
  const colourOf = value => {
    const place = (high > low ? Math.min(1, Math.max(0, share.pixel(value))) : 0.5) * (shades.length - 1);
    return mixed(shades[Math.floor(place)], shades[Math.ceil(place)], place % 1);
  };
  const wide = (drawing.area.right - drawing.area.left) / columns, tall = (drawing.area.bottom - drawing.area.top) / rows;
  const bests = bestCells(metric, values, across, up, cells);
  const numbered = wide > 46 && tall > 16;
  drawing.points = cells.map(({ position, column, row }, i) => {
    const x = drawing.x.pixel(column), y = drawing.y.pixel(row), colour = colourOf(values[i]);
    drawing.plot.append(svgElement("rect", { x: x - wide / 2, y: y - tall / 2, width: wide + 0.5, height: tall + 0.5, fill: colour }));
    if (numbered) {
      const ink = luminance(colour) < 0.25 ? "#ffffff" : "#000000";
      drawing.plot.append(svgElement("text", { x, y: y + 4, "text-anchor": "middle", "font-size": 11, fill: ink }, numberText(values[i], 4)));
    }
    return cellPoint(metric, series, position, x, y);
  });
  for (const best of low < high ? bests : []) {
    const { x, y } = drawing.points[best];
    drawing.plot.append(svgElement("rect", { x: x - wide / 2 + 2, y: y - tall / 2 + 2, width: Math.max(wide - 4, 2), height: Math.max(tall - 4, 2), fill: "none", stroke: "#000000", "stroke-width": 3 }),
      svgElement("rect", { x: x - wide / 2 + 2, y: y - tall / 2 + 2, width: Math.max(wide - 4, 2), height: Math.max(tall - 4, 2), fill: "none", stroke: "#ffffff", "stroke-width": 1 }));
  }
  drawColourBar(drawing, low, high, logarithmic, colourOf);
  return drawing;
}

function drawColourBar(drawing, low, high, logarithmic, colourOf) {
  const { area } = drawing, x = area.right + 14, steps = 40;
  const [bottom, top] = low < high ? [low, high] : [low - 0.5, low + 0.5];
  const pixel = scale(bottom, top, area.bottom, area.top, logarithmic && low < high);
  const tall = (area.bottom - area.top) / steps;
  for (let i = 0; i < steps; i++) {
    const part = (i + 0.5) / steps, value = pixel.logarithmic ? bottom * (top / bottom) ** part : bottom + (top - bottom) * part;
    drawing.svg.append(svgElement("rect", { x, y: area.bottom - (i + 1) * tall, width: 12, height: tall + 0.5, fill: colourOf(value) }));
  }
  const ticks = pixel.logarithmic ? logTicks(bottom, top) : linearTicks(bottom, top, 5);
  for (const tick of ticks) drawing.text(x + 16, pixel.pixel(tick) + 4, tickText(tick));
}

// A line per value of the parameter `up`, against the parameter `across`.
function sweepDrawing(metric, series, across, up, cells, colours, width) {
  const numeric = !across.parameter.words, logarithmic = numeric && across.values[0] > 0 && across.values[across.values.length - 1] >= 20 * across.values[0];
  const place = column => (numeric ? across.values[column] : column);
  const found = cells.map(cell => ({ ...cell, final: finalOf(metric, cell.position, series) }));
  const edges = found.flatMap(({ final: [value, error] }) => (Number.isFinite(error) ? [value - halfWidth(error, series), value + halfWidth(error, series)] : [value]));
  const [low, high] = padded(edges, false);
  const [first, last] = numeric ? padded(across.values, logarithmic) : [-0.5, across.values.length - 0.5];
  const ticks = numeric ? null : axisTicks(across, 12);
  const drawing = new Drawing(width, 400, colours, { low: first, high: last, logarithmic, ticks, label: ofPolicy(across.parameter.name) },
    { low, high, label: `${metric.label} at T` });
  drawing.points = [];
  const shades = results.colourMaps.viridis, rows = up ? up.values.length : 1, legend = [];
  for (let row = 0; row < rows; row++) {
    const shade = shades[Math.round(0.88 * (rows > 1 ? row / (rows - 1) : 0) * (shades.length - 1))], own = found.filter(cell => cell.row === row).sort((one, other) => one.column - other.column);
    const colour = visible(rows > 1 ? shade : results.policies.colours[results.policies.family.values[own[0]?.position ?? 0]], colours);
    const pixels = own.map(({ column, final: [value] }) => [drawing.x.pixel(place(column)), drawing.y.pixel(value)]);
    drawing.path(pixels, { stroke: colour });
    own.forEach(({ position, final: [value, error] }, i) => {
      const [x, y] = pixels[i], half = halfWidth(error, series);
      if (Number.isFinite(half)) drawing.line(x, drawing.y.pixel(value - half), x, drawing.y.pixel(value + half), colour);
      drawing.plot.append(svgElement("circle", { cx: x, cy: y, r: 3, fill: colour }));
      drawing.points.push(cellPoint(metric, series, position, x, y));
    });
    if (up) legend.push([colour, [], `${ofPolicy(up.parameter.name)} = ${valueText(up.parameter, up.values[row])}`]);
  }
  drawing.legend(legend.slice(0, 24));
  return drawing;
}
