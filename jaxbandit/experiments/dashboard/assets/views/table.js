// The view of the table: every metric at T of all policies; it sorts and filters.

const ROWS = 100; // on one page

// The condition that a filter's word stands for: "eta=10", "regret<50", or a part of the label.
function condition(word, columns) {
  const [, name, sign, text] = word.match(/^([^<>=]+)(<=|>=|<|>|=)(.+)$/) ?? [];
  const column = columns.findIndex(one => one.keys.includes(name?.toLowerCase()));
  if (column < 0) return row => row.texts[0].toLowerCase().includes(word.toLowerCase());
  const limit = Number(text);
  const holds = { "<": value => value < limit, ">": value => value > limit, "<=": value => value <= limit, ">=": value => value >= limit }[sign];
  if (holds) return row => typeof row.values[column] === "number" && holds(row.values[column]);
  return row => row.texts[column].toLowerCase() === text.toLowerCase() || (text !== "" && row.values[column] === limit);
}

// What the marks in the column "best" mean.
function bestWords() {
  const label = results.metrics.find(metric => metric.names.includes(results.ranking)).label;
  const over = results.instances.length > 1 ? ", in the mean over instances" : "";
  const each = results.best.length > 1 ? " on each problem" : "";
  const set = results.possible ? " A policy that may be best is in the 95 % confidence set for the best one (jb.grids.confidence_set)." : "";
  return `Best${each}: by ${label} at T${over}.${set}`;
}

const tableView = {
  name: "table", title: "Table",
  offered: () => results.metrics.length > 0,
  declare() {
    view.declare("filter", "", text => text.length < 1000);
    const ranking = this.columns().findIndex(column => column.keys.includes(String(results.ranking).toLowerCase()));
    view.declare("sort", Math.max(ranking, 0), isNumberBelow(1000)); // at first by the ranking metric, the best first
    view.declare("descending", Number(results.metrics.some(metric => metric.larger && metric.names.includes(results.ranking))), ["0", "1"]);
    view.declare("page", 0, isNumberBelow(1e6));
  },
  columns() {
    const text = name => ({ title: name, keys: [name], numeric: false });
    return [
      text("policy"), ...(results.best.length ? [text("best")] : []), text("kind"),
      ...results.parameters.map(parameter => ({ title: ofPolicy(parameter.name), keys: [parameter.name, ofPolicy(parameter.name)].map(key => key.toLowerCase()), numeric: !parameter.words })),
      ...(results.instances.length > 1 ? [text("instance")] : []),
      ...results.metrics.map(metric => ({ title: metric.label, keys: metric.names.map(name => name.toLowerCase()), numeric: true, formula: metric.formula })),
    ];
  },
  rows() {
    const limit = Math.min(...results.metrics.map(metric => metric.final.mean.shape[1]));
    const rows = [];
    for (let position = 0; position < results.policies.labels.length; position++) {
      for (const series of chosenSeries(limit)) {
        const label = results.policies.labels[position], kind = results.policies.kinds[results.policies.kind.values[position]];
        const parameters = results.parameters.map(parameter => [parameterText(parameter, position), parameter.words ? null : parameter.values.values[position]]);
        const instance = results.instances.length > 1 ? [[seriesName(series), null]] : [];
        const finals = results.metrics.map(metric => {
          const [value, error] = finalOf(metric, position, series);
          return [intervalText(value, error, series), value];
        });
        const mark = results.best.length ? [[series === 0 ? markOf(position) : "", null]] : [];
        const cells = [[label, null], ...mark, [kind, null], ...parameters, ...instance, ...finals];
        rows.push({ position, series, texts: cells.map(([words]) => words), values: cells.map(([words, value]) => value ?? words) });
      }
    }
    return rows;
  },
  chosenRows(columns) {
    const conditions = view.get("filter").split(/\s+/).filter(word => word !== "").map(word => condition(word, columns));
    const rows = this.rows().filter(row => conditions.every(holds => holds(row)));
    const column = Number(view.get("sort")), side = view.isOn("descending") ? -1 : 1;
    const missing = value => value === "" || Number.isNaN(value);
    return rows.sort((one, other) => {
      const [first, second] = [one.values[column], other.values[column]];
      if (missing(first) || missing(second)) return Number(missing(first)) - Number(missing(second));
      return side * (typeof first === "number" ? first - second : String(first).localeCompare(String(second)));
    });
  },
  controls() {
    const input = element("input", {
      id: "choice-filter", type: "search", value: view.get("filter"), placeholder: "lfg eta=10 regret<50", autocomplete: "off", "aria-describedby": "filter-help",
      oninput: event => view.choose({ filter: event.target.value, page: 0 }, false),
    });
    return [
      element("label", { class: "control wide", for: "choice-filter" }, element("span", {}, "filter"), input),
      element("span", { id: "filter-help", class: "hint" }, "Words of the label, or conditions such as eta=10 and regret<50; all must hold."),
    ];
  },
  draw() {
    const columns = this.columns(), rows = this.chosenRows(columns);
    const pages = Math.max(1, Math.ceil(rows.length / ROWS)), page = Math.min(Number(view.get("page")), pages - 1);
    const head = element("tr", {}, ...columns.map((column, i) => {
      const sorted = view.get("sort") === String(i), down = view.isOn("descending");
      const choose = () => view.choose({ sort: i, descending: sorted && !down ? 1 : 0, page: 0 });
      return element("th", { scope: "col", "aria-sort": sorted ? (down ? "descending" : "ascending") : null, title: column.formula ?? null },
        buttonControl(column.title + (sorted ? (down ? " \u25bc" : " \u25b2") : ""), choose, { id: `sort-${i}` }));
    }));
    const body = element("tbody", {}, ...rows.slice(page * ROWS, (page + 1) * ROWS).map(row => element("tr", {}, ...row.texts.map((text, i) => {
      if (i > 0) return element("td", columns[i].numeric ? { class: "number" } : {}, labelElement(text, 60));
      const facts = policyFacts(row.position, row.series, results.metrics.map((metric, m) => [metric.label, row.texts[row.texts.length - results.metrics.length + m]]));
      return element("th", { scope: "row" }, element("button", { type: "button", class: "plain", onclick: () => keepPoint({ label: text, position: row.position, facts }) }, labelElement(text, 80)));
    }))));
    const turn = (step, words, id) => buttonControl(words, () => view.choose({ page: page + step }), { id, disabled: page + step < 0 || page + step >= pages });
    const csv = [columns.flatMap((column, i) => (i < columns.length - results.metrics.length ? [column.title] : [column.title, `${column.title}: standard error`])),
      ...rows.map(row => row.values.flatMap((value, i) => {
        const metric = results.metrics[i - (columns.length - results.metrics.length)];
        return metric ? [value, finalOf(metric, row.position, row.series)[1]] : [value];
      }))];
    return [
      element("p", { role: "status" }, `${countText(rows.length)} of ${countText(this.rows().length)} rows at T = ${countText(results.horizon)}: ${results.seeds > 1 ? "mean \u00b1 95 % confidence" : "mean"} over ${sampleWords([...new Set(rows.map(row => row.series))])}`),
      ...(results.best.length ? [element("p", { class: "hint" }, bestWords())] : []),
      element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of results" }, element("table", { id: "results" }, element("thead", {}, head), body)),
      element("div", { class: "save" }, turn(-1, "Previous page", "page-back"), element("span", {}, `page ${page + 1} of ${pages}`), turn(1, "Next page", "page-on"),
        buttonControl("Save CSV", () => download(`${fileName(results.title, "table")}.csv`, "text/csv", csvText(csv)), { "aria-label": "Save CSV: table" })),
    ];
  },
};
