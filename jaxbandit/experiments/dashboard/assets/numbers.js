// Numbers and labels as text.

const ELLIPSIS = "\u2026";

// A number with six significant digits.
function numberText(value, digits = 6) {
  return Number.isFinite(value) ? String(Number(value.toPrecision(digits))) : "none";
}

// A number as labels of policies show it: with six significant digits, or all where these are not enough.
function shortNumber(value) {
  const rounded = Number(value.toPrecision(6));
  return String(Math.abs(rounded - value) <= 1e-14 * Math.abs(value) ? rounded : value);
}

// A number with thousands apart, for rounds and counts.
function countText(value) {
  return Number.isInteger(value) ? value.toLocaleString("en-US") : numberText(value);
}

// Half the width of a confidence interval; NaN where there is one run. Series 0 is over all instances, the others over the runs of one.
function halfWidth(error, series) {
  return (series === 0 ? results.confidence : results.confidenceOfInstance) * error;
}

function intervalText(value, error, series) {
  return Number.isFinite(error) ? `${numberText(value)} \u00b1 ${numberText(halfWidth(error, series), 3)}` : numberText(value);
}

// A label in at most so many characters.
function shortened(label, most = 48) {
  const characters = Array.from(label);
  return characters.length <= most ? label : characters.slice(0, most - 1).join("") + ELLIPSIS;
}

// Rows as comma-separated values; cells with commas, quotes or line breaks are quoted.
function csvText(rows) {
  const cell = value => {
    const text = typeof value === "number" ? (Number.isFinite(value) ? String(value) : "") : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map(row => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

function fileName(...parts) {
  const plain = parts.join("-").toLowerCase().replace(/[^a-z0-9.]+/g, "-").replace(/^[-.]+|[-.]+$/g, "");
  return plain.slice(0, 80) || "results";
}

// The least and the largest of some finite numbers; [0, 1] where there are none.
function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [0, 1];
}
