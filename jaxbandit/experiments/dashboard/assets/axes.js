// Drawings in SVG: scales, axes and text. Colours are given in full, so that a saved drawing looks the same anywhere.

const LIGHT = { dark: false, ink: "#222222", faint: "#dddddd", soft: "#555555", paper: "#ffffff" };
const DARK = { dark: true, ink: "#e8e8e8", faint: "#3c3c3c", soft: "#b0b0b0", paper: "#181a1b" };

function palette() {
  const theme = view.get("theme");
  const dark = theme === "dark" || (theme === "auto" && window.matchMedia("(prefers-color-scheme: dark)").matches);
  return dark ? DARK : LIGHT;
}

function svgElement(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function svgText(drawing) {
  drawing.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(drawing)}`;
}

const channels = colour => [1, 3, 5].map(start => parseInt(colour.slice(start, start + 2), 16));
const hexadecimal = parts => "#" + parts.map(part => Math.round(part).toString(16).padStart(2, "0")).join("");

// A mixture of two colours: the first for a share of 0, the second for 1.
function mixed(colour, other, share) {
  const [from, to] = [channels(colour), channels(other)];
  return hexadecimal(from.map((part, i) => part + (to[i] - part) * share));
}

function luminance(colour) {
  const [red, green, blue] = channels(colour).map(part => {
    const share = part / 255;
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

// A policy's colour on a dark page: light enough to be seen.
function visible(colour, colours) {
  let seen = colour;
  for (let share = 0.1; colours.dark && luminance(seen) < 0.15 && share <= 1; share += 0.1) seen = mixed(colour, "#ffffff", share);
  return seen;
}

// A short line as a chart draws it.
function lineSwatch(colour, dash) {
  return svgElement("svg", { class: "swatch", viewBox: "0 0 24 10", "aria-hidden": "true" },
    svgElement("line", { x1: 0, y1: 5, x2: 24, y2: 5, stroke: colour, "stroke-width": 3, "stroke-dasharray": dash.map(one => one * 1.6).join(" ") || null }));
}

// The outline of a mark of a shape around a point: a circle, a square, a diamond, triangles and a cross, as figures have them.
const SHAPES = 6;
function markOutline(shape, x, y, r) {
  const corners = [
    null, [[-1, -1], [1, -1], [1, 1], [-1, 1]], [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]], [[0, -1.2], [1.2, 1], [-1.2, 1]],
    [[0, 1.2], [1.2, -1], [-1.2, -1]], [[-0.4, -1.2], [0.4, -1.2], [0.4, -0.4], [1.2, -0.4], [1.2, 0.4], [0.4, 0.4], [0.4, 1.2], [-0.4, 1.2], [-0.4, 0.4], [-1.2, 0.4], [-1.2, -0.4], [-0.4, -0.4]],
  ][shape];
  if (!corners) return `M${(x - r).toFixed(1)} ${y.toFixed(1)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
  return `M${corners.map(([right, down]) => `${(x + right * r).toFixed(1)} ${(y + down * r).toFixed(1)}`).join("L")}z`;
}

// Round numbers from low to high, about `count` of them.
function linearTicks(low, high, count) {
  const rough = (high - low) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(one => one * power).find(one => one >= rough * 0.999) ?? power;
  const ticks = [], first = Math.ceil(low / step - 1e-9);
  for (let i = first; i * step <= high + step * 1e-9 && ticks.length <= 2 * count; i++) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

function logTicks(low, high) {
  const decades = Math.log10(high / low);
  const steps = decades < 1.5 ? [1, 2, 3, 5, 7] : decades < 4 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(decades / 8));
  const ticks = [];
  for (let ten = Math.floor(Math.log10(low)); ten <= Math.log10(high); ten++) {
    if (ten % every !== 0) continue;
    for (const step of steps) {
      const tick = Number((step * 10 ** ten).toPrecision(3));
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
    }
  }
  return ticks.length > 1 ? ticks : linearTicks(low, high, 4);
}

// A number at a tick: short, with powers of ten where it is very large or small.
function tickText(value) {
  const size = Math.abs(value);
  if (size >= 1e6 || (size > 0 && size < 1e-3)) return value.toExponential().replace("+", "");
  return size >= 1e4 ? value.toLocaleString("en-US") : String(Number(value.toPrecision(6)));
}

// A scale from values to pixels.
function scale(low, high, from, to, logarithmic = false) {
  const place = logarithmic ? Math.log10 : value => value;
  const [first, last] = [place(low), place(high)];
  const span = last - first || 1;
  const pixel = value => from + (to - from) * ((place(value) - first) / span);
  return { low, high, logarithmic, pixel };
}

// The range of some values with a margin at both ends.
function padded(values, logarithmic) {
  const usable = logarithmic ? values.filter(value => value > 0) : values;
  const [low, high] = logarithmic && !usable.some(Number.isFinite) ? [1, 10] : extent(usable);
  if (logarithmic) return low < high ? [low / (high / low) ** 0.04, high * (high / low) ** 0.04] : [low / 2, high * 2];
  const margin = low < high ? 0.05 * (high - low) : Math.max(Math.abs(low), 1) * 0.1;
  return [low - margin, high + margin];
}

// A drawing with axes; `x` and `y` have low, high, logarithmic, label, and maybe ticks as pairs of a value and a text.
class Drawing {
  constructor(width, height, colours, x, y, more = {}) {
    const left = more.left ?? 74, right = more.right ?? 16, top = 12, bottom = more.bottom ?? 48;
    this.colours = colours;
    this.area = { left, right: width - right, top, bottom: height - bottom };
    this.svg = svgElement("svg", {
      viewBox: `0 0 ${width} ${height}`, width, height, "font-family": "system-ui, sans-serif", "font-size": 12, fill: colours.ink,
    });
    this.background = svgElement("rect", { width, height, fill: colours.paper });
    this.svg.append(this.background);
    this.x = scale(x.low, x.high, left, width - right, x.logarithmic);
    this.y = scale(y.low, y.high, height - bottom, top, y.logarithmic);
    this.size = { width, height };
    this.drawAxes(x, y);
    const clip = `area-${Drawing.count++}`;
    const { area } = this;
    this.svg.append(svgElement("clipPath", { id: clip },
      svgElement("rect", { x: area.left - 1, y: area.top - 1, width: Math.max(area.right - area.left + 2, 0), height: Math.max(area.bottom - area.top + 2, 0) })));
    this.plot = svgElement("g", more.unclipped ? {} : { "clip-path": `url(#${clip})` });
    this.svg.append(this.plot);
  }

  drawAxes(x, y) {
    const { area, colours, svg } = this;
    const ticksOf = (axis, count) => axis.ticks ?? (axis.logarithmic ? logTicks(axis.low, axis.high) : linearTicks(axis.low, axis.high, count)).map(tick => [tick, tickText(tick)]);
    for (const [value, text] of ticksOf(x, (area.right - area.left) / 90)) {
      const at = this.x.pixel(value);
      if (!x.ticks) this.line(at, area.top, at, area.bottom, colours.faint, svg);
      this.text(at, area.bottom + 16, text, { "text-anchor": "middle" });
    }
    for (const [value, text] of ticksOf(y, (area.bottom - area.top) / 40)) {
      const at = this.y.pixel(value);
      if (!y.ticks) this.line(area.left, at, area.right, at, colours.faint, svg);
      this.text(area.left - 6, at + 4, text, { "text-anchor": "end" });
    }
    this.text((area.left + area.right) / 2, this.size.height - 10, x.label, { "text-anchor": "middle" });
    const middle = (area.top + area.bottom) / 2;
    this.text(14, middle, y.label, { "text-anchor": "middle", transform: `rotate(-90 14 ${middle})` });
  }

  line(x1, y1, x2, y2, colour, into = this.plot, more = {}) {
    into.append(svgElement("line", { x1, y1, x2, y2, stroke: colour, ...more }));
  }

  text(x, y, words, more = {}) {
    this.svg.append(svgElement("text", { x, y, ...more }, shortened(words, 70)));
  }

  path(points, more = {}) {
    const steps = points.map((point, i) => (point === null ? "" : `${i > 0 && points[i - 1] !== null ? "L" : "M"}${point[0].toFixed(2)} ${point[1].toFixed(2)}`));
    this.plot.append(svgElement("path", { d: steps.join(""), fill: "none", "stroke-width": 1.6, ...more }));
  }

  // Entries of a legend below the drawing: a colour, dashes or null for a mark, a text, and the shape of the mark (a circle).
  legend(entries) {
    const lineHeight = 18, columns = Math.max(1, Math.floor(this.size.width / 260));
    const rows = Math.ceil(entries.length / columns);
    entries.forEach(([colour, dash, words, shape = 0], i) => {
      const x = 16 + (i % columns) * (this.size.width / columns), y = this.size.height + 6 + lineHeight * Math.floor(i / columns);
      if (dash === null) this.svg.append(svgElement("path", { d: markOutline(shape, x + 12, y + 4, 4), fill: colour }));
      else this.line(x, y + 4, x + 24, y + 4, colour, this.svg, { "stroke-width": 2, "stroke-dasharray": dash.map(one => one * 2).join(" ") || null });
      this.text(x + 30, y + 8, shortened(words, 32));
    });
    const height = this.size.height + 10 + lineHeight * rows;
    this.svg.setAttribute("viewBox", `0 0 ${this.size.width} ${height}`);
    this.svg.setAttribute("height", height);
    this.background.setAttribute("height", height);
  }
}
Drawing.count = 0;
