// Elements of the page. Texts are set as text, never as markup, so that labels cannot hold code.

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter(child => child !== null));
  return made;
}

// A label that may be long, or written from right to left.
function labelElement(text, most = 120) {
  return element("bdi", { title: text.length > most ? shortened(text, 2000) : null }, shortened(text, most));
}

// A choice among values; `options` are pairs of a value and its text.
function selectControl(name, text, options) {
  const id = `choice-${name}`;
  const select = element("select", { id, onchange: event => view.choose({ [name]: event.target.value }) });
  for (const [value, words] of options) {
    select.append(element("option", { value, selected: String(value) === view.get(name) }, shortened(words, 60)));
  }
  return element("label", { class: "control", for: id }, element("span", {}, text), select);
}

// A switch; `why` says why it cannot be used, and is empty where it can.
function switchControl(name, text, why = "") {
  const id = `choice-${name}`;
  const box = element("input", {
    id, type: "checkbox", checked: view.isOn(name) && !why, disabled: Boolean(why), title: why || null,
    onchange: event => view.choose({ [name]: event.target.checked ? "1" : "0" }),
  });
  return element("label", { class: "control switch", for: id, title: why || null }, box, element("span", {}, text));
}

// A slider over the places of a list of texts.
function sliderControl(id, text, texts, place, onmove) {
  const output = element("output", { for: id }, shortened(texts[place], 24));
  const slider = element("input", {
    id, type: "range", min: 0, max: texts.length - 1, step: 1, value: place, "aria-valuetext": texts[place],
    oninput: event => {
      const moved = Number(event.target.value);
      output.textContent = shortened(texts[moved], 24);
      event.target.setAttribute("aria-valuetext", texts[moved]);
      onmove(moved);
    },
  });
  return element("label", { class: "control", for: id }, element("span", {}, text, " = ", output), slider);
}

function buttonControl(text, onclick, attributes = {}) {
  return element("button", { type: "button", onclick, ...attributes }, text);
}

function download(name, type, text) {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

async function copyText(text, button) {
  const words = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
  } catch { // pages in files and frames may not use the clipboard
    const area = element("textarea", {}, text);
    document.body.append(area);
    area.select();
    button.textContent = document.execCommand("copy") ? "copied" : "select the text and copy it";
    area.remove();
    button.focus();
  }
  setTimeout(() => { button.textContent = words; }, 1500);
}

const MOST_ROWS = 1000; // of a table behind a chart; the CSV file has all

// The table behind a chart, closed at first. Its rows are made when it is opened.
function dataTable(name, columns, rows) {
  const box = element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Data of ${name}` });
  const details = element("details", { class: "data" }, element("summary", {}, "Data as a table"), box);
  details.addEventListener("toggle", () => {
    if (!details.open || box.firstChild) return;
    const head = element("tr", {}, ...columns.map(column => element("th", { scope: "col" }, labelElement(column, 60))));
    const body = element("tbody");
    for (const row of rows.slice(0, MOST_ROWS)) {
      const cells = row.map((value, place) => {
        const text = typeof value === "number" ? numberText(value) : value;
        return element(place === 0 ? "th" : "td", place === 0 ? { scope: "row" } : {}, labelElement(String(text), 60));
      });
      body.append(element("tr", {}, ...cells));
    }
    box.append(element("table", {}, element("thead", {}, head), body));
    if (rows.length > MOST_ROWS) {
      box.append(element("p", {}, `The first ${countText(MOST_ROWS)} of ${countText(rows.length)} rows; the CSV file has all.`));
    }
  });
  return details;
}

// The buttons that save a chart and its data.
function saveButtons(name, drawSvg, columns, rows) {
  return element("div", { class: "save" },
    buttonControl("Save SVG", () => download(`${fileName(results.title, name)}.svg`, "image/svg+xml", svgText(drawSvg())),
      { "aria-label": `Save SVG: ${name}` }),
    buttonControl("Save CSV", () => download(`${fileName(results.title, name)}.csv`, "text/csv", csvText([columns, ...rows])),
      { "aria-label": `Save CSV: ${name}` }));
}
