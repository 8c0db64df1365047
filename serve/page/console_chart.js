// Draws the rows of an answer with uPlot, which is loaded with the first chart. Its own choice of axes: the first
// column of times, else of numbers; the first column of prices or counts; a line per symbol if there are few.
import {isNumeric} from "./console_table.js";

const LINES_MAX = 24;  // With more, none can be told from another; the key says how many are left out.
const GROUPS_BY_ITSELF = 8;
const HEIGHT = 380;
const DASHES = [[], [8, 5], [2, 4]];
const ROW_NUMBER = -1;
const NO_GROUP = -1;
const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

const INSTANTS = "pdzm", CLOCKS = "nuvt";
const DATE = /^(\d{4,5})\.(\d\d)(?:\.(\d\d))?/;
const CLOCK = /^(-?)(?:(\d+)D)?(\d+):(\d\d)(?::(\d\d)(\.\d+)?)?$/;

function secondsOfClock(text) {
  const match = CLOCK.exec(text);
  if (match === null) return null;
  const [, minus, days, hours, minutes, seconds, fraction] = match;
  const total = Number(days || 0) * 86400 + Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds || 0) + Number(fraction || 0);
  return minus ? -total : total;
}

function secondsOfInstant(text) {
  const match = DATE.exec(text);
  if (match === null) return null;
  const date = new Date(0);
  date.setUTCFullYear(Number(match[1]), Number(match[2]) - 1, Number(match[3] || 1));
  const clock = text.slice(match[0].length).replace(/^[DT]/, "");
  const seconds = clock === "" || clock === "m" ? 0 : secondsOfClock(clock);
  return seconds === null ? null : date.getTime() / 1000 + seconds;
}

// Returns a cell as a number to draw, near to its value; null for a null, an infinity or another text.
export function numberOf(type, text) {
  if (text === "") return null;
  if (INSTANTS.includes(type)) return secondsOfInstant(text);
  if (CLOCKS.includes(type)) return secondsOfClock(text);
  const number = type === "x" ? parseInt(text, 16) : Number(text);
  return Number.isFinite(number) ? number : null;
}

const isTime = (column) => INSTANTS.includes(column.type) || CLOCKS.includes(column.type);
const isValue = (column) => isNumeric(column) && !isTime(column);
const isGroup = (column) => "scbdgmhij".includes(column.type);

// Returns the different texts of a column, the most frequent first.
function groupsOf(column) {
  const counts = new Map();
  for (const text of column.cells) counts.set(text, (counts.get(text) || 0) + 1);
  return [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a) || (a < b ? -1 : 1));
}

// Returns what to draw if nobody chose: {x, ys, by} as indices of columns.
export function choiceOf(grid) {
  const {columns} = grid;
  const at = (test) => columns.findIndex(test);
  const time = at(isTime);
  const numbers = columns.map((_, i) => i).filter((i) => isValue(columns[i]));
  const plain = numbers.filter((i) => i >= grid.keys && columns[i].type !== "b" && columns[i].type !== "x");
  const x = time >= 0 ? time : plain.length > 1 ? plain[0] : ROW_NUMBER;
  const left = plain.filter((i) => i !== x);
  const floats = left.filter((i) => "ef".includes(columns[i].type));
  const ys = floats.length > 0 ? floats.slice(0, 1) : left.slice(0, 1);
  const symbol = at((column) => column.type === "s");
  const many = symbol < 0 ? 0 : groupsOf(columns[symbol]).length;
  return {x, ys, by: many > 1 && many <= GROUPS_BY_ITSELF ? symbol : NO_GROUP};
}

// Returns the lines of a choice: {label, column, rows, x, y}, x ascending; and how many groups are left out.
export function linesOf(grid, {x, ys, by}) {
  const {columns, shown} = grid;
  const xs = new Array(shown);
  for (let row = 0; row < shown; ++row) xs[row] = x === ROW_NUMBER ? row : numberOf(columns[x].type, columns[x].cells[row]);
  const order = xs.map((_, row) => row).filter((row) => xs[row] !== null);
  for (let i = 1; i < order.length; ++i) {
    if (xs[order[i - 1]] <= xs[order[i]]) continue;
    order.sort((a, b) => xs[a] - xs[b]);
    break;
  }
  const all = by === NO_GROUP ? [null] : groupsOf(columns[by]);
  const groups = all.slice(0, Math.max(1, Math.floor(LINES_MAX / Math.max(1, ys.length))));
  const rows_of = new Map(groups.map((group) => [group, []]));
  for (const row of order) {
    const rows = rows_of.get(by === NO_GROUP ? null : columns[by].cells[row]);
    if (rows !== undefined) rows.push(row);
  }
  const lines = [];
  for (const group of groups) {
    const rows = rows_of.get(group), x_of_group = rows.map((row) => xs[row]);
    for (const y of ys) {
      const {name, type, cells} = columns[y];
      const label = group === null ? name : ys.length === 1 ? group || "(null)" : `${group || "(null)"} ${name}`;
      lines.push({label, column: columns[y], rows, x: x_of_group, y: rows.map((row) => numberOf(type, cells[row]))});
    }
  }
  return {lines, left_out: all.length - groups.length};
}

// uPlot takes one x for all lines: all values, ascending, and no value where a line has none there. Returns these
// data, and for each line the row of each point. Of rows with the same x, a line has the last.
export function aligned(lines) {
  const xs = [...new Set(lines.flatMap((line) => line.x))].sort((a, b) => a - b);
  const index_of = new Map(xs.map((x, i) => [x, i]));
  const data = [xs], rows = [];
  for (const line of lines) {
    const ys = new Array(xs.length).fill(undefined);  // undefined, unlike null, does not end a line.
    const row_at = new Array(xs.length).fill(undefined);
    line.x.forEach((x, i) => {
      ys[index_of.get(x)] = line.y[i];
      row_at[index_of.get(x)] = line.rows[i];
    });
    data.push(ys);
    rows.push(row_at);
  }
  return {data, rows};
}

function clockText(seconds) {
  const whole = Math.abs(seconds), two = (n) => String(Math.floor(n)).padStart(2, "0");
  const fraction = whole % 1 === 0 ? "" : (whole % 1).toFixed(3).slice(1);
  return `${seconds < 0 ? "-" : ""}${two(whole / 3600)}:${two(whole / 60 % 60)}:${two(whole % 60)}${fraction}`;
}

// Texts of an axis of instants: a clock, and below it the date where it is another one than before.
function instantTexts(splits, step) {
  let day = "";
  return splits.map((seconds) => {
    const [date, clock] = new Date(seconds * 1000).toISOString().replace("Z", "").split("T");
    if (step >= 86400) return date;
    const shown = step >= 60 ? clock.slice(0, 5) : step >= 1 ? clock.slice(0, 8) : clock;
    if (date === day) return shown;
    day = date;
    return shown + "\n" + date;
  });
}

let library = null;
function loadLibrary() {
  library = library || new Promise((done, failed) => {
    const style = document.createElement("link"), script = document.createElement("script");
    style.rel = "stylesheet";
    style.href = "/page/uplot.css";
    script.src = "/page/uplot.js";
    script.addEventListener("load", () => done(globalThis.uPlot));
    script.addEventListener("error", () => {
      library = null;
      failed(new Error("the library for charts was not loaded"));
    });
    document.head.append(style, script);
  });
  return library;
}

const element = (tag, properties, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};

export class ChartView {
  constructor(place) {
    this.place = place;
    this.plot = null;
    this.grid = null;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.clear();
      this.draw();
    });
    new ResizeObserver(() => {
      if (this.plot !== null && this.figure.clientWidth > 0) this.plot.setSize({width: this.figure.clientWidth, height: HEIGHT});
    }).observe(place);
  }

  show(grid) {
    if (this.grid === grid) return this.plot === null ? this.draw() : undefined;
    // The same columns again: what the user chose holds.
    const same = this.grid !== null && JSON.stringify(this.grid.columns.map(({name, type}) => [name, type])) ===
      JSON.stringify(grid.columns.map(({name, type}) => [name, type]));
    this.grid = grid;
    if (!same) this.choice = choiceOf(grid);
    this.build();
    this.draw();
  }

  build() {
    const {columns} = this.grid;
    const option = (value, text) => element("option", {value: String(value), textContent: text, selected: false});
    const pick = (title, options, value, set) => {
      const select = element("select", {}, ...options);
      select.value = String(value);
      select.addEventListener("change", () => {
        set(Number(select.value));
        this.draw();
      });
      return element("label", {className: "label", textContent: title}, select);
    };
    const numbers = columns.map((column, i) => [column, i]).filter(([column]) => isValue(column));
    const xs = columns.map((column, i) => [column, i]).filter(([column]) => isNumeric(column));
    const groups = columns.map((column, i) => [column, i]).filter(([column]) => isGroup(column));
    const boxes = numbers.map(([column, i]) => {
      const box = element("input", {type: "checkbox", checked: this.choice.ys.includes(i)});
      box.addEventListener("change", () => {
        this.choice.ys = numbers.map(([, n]) => n).filter((n) => (n === i ? box.checked : this.choice.ys.includes(n)));
        this.draw();
      });
      return element("label", {}, box, column.name);
    });
    this.figure = element("div", {className: "figure"});
    this.figure.setAttribute("role", "img");
    this.key = element("ul", {className: "key"});
    this.note = element("p", {className: "quiet"});
    this.place.replaceChildren(
      element("div", {className: "picks"},
        pick("x", [option(ROW_NUMBER, "row number"), ...xs.map(([column, i]) => option(i, column.name))], this.choice.x, (x) => { this.choice.x = x; }),
        element("fieldset", {}, element("legend", {className: "label", textContent: "y"}), element("div", {}, ...boxes)),
        pick("a line for each", [option(NO_GROUP, "none"), ...groups.map(([column, i]) => option(i, column.name))], this.choice.by, (by) => { this.choice.by = by; })),
      this.figure, this.key, this.note);
  }

  async draw() {
    if (this.grid === null || this.place.hidden) return;
    const grid = this.grid;
    this.clear();
    this.key.replaceChildren();
    if (this.choice.ys.length === 0) {
      this.note.textContent = grid.columns.some(isValue) ? "Choose what to draw." : "The answer has no column of numbers to draw.";
      return;
    }
    this.note.textContent = "";
    try {
      const uPlot = await loadLibrary();
      if (this.grid === grid) this.plotLines(uPlot);
    } catch (error) {
      this.note.textContent = "No chart: " + error.message;
    }
  }

  clear() {
    if (this.plot !== null) this.plot.destroy();
    this.plot = null;
  }

  plotLines(uPlot) {
    this.clear();
    const {lines, left_out} = linesOf(this.grid, this.choice);
    const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
    const xType = this.choice.x === ROW_NUMBER ? "" : this.grid.columns[this.choice.x].type;
    const instant = xType !== "" && INSTANTS.includes(xType), clock = xType !== "" && CLOCKS.includes(xType);
    const axis = {stroke: colour("quiet"), font: FONT, grid: {stroke: colour("line"), width: 1}, ticks: {stroke: colour("line"), width: 1}};
    const xTexts = instant ? {values: (_plot, splits, _axis, _space, step) => instantTexts(splits, step), space: 80}
                 : clock ? {values: (_plot, splits) => splits.map(clockText), space: 90} : {};
    this.showKey(lines, null);
    const {data, rows} = aligned(lines);
    this.plot = new uPlot({
      width: this.figure.clientWidth, height: HEIGHT,
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
      legend: {show: false},
      scales: {x: {time: instant}},
      cursor: {y: false},
      hooks: {setCursor: [({cursor: {idx}}) => this.showKey(lines, typeof idx === "number" ? rows.map((row_at) => row_at[idx]) : null)]},
      axes: [{...axis, ...xTexts}, {...axis, size: 76}],
      series: [{}, ...lines.map((line, i) => ({
        label: "", stroke: colour("c" + i % 6), width: 1.5, dash: DASHES[Math.floor(i / 6) % DASHES.length],
        points: {show: data[0].length <= 60, size: 5},
      }))],
    }, data, this.figure);
    const names = lines.map((line) => line.label).join(", ");
    this.figure.setAttribute("aria-label", `Chart of ${names} in ${this.grid.shown} rows; the table has the numbers`);
    const notes = [];
    if (left_out > 0) notes.push(`Shows the ${lines.length / this.choice.ys.length} most frequent of ${left_out + lines.length / this.choice.ys.length} values of ${this.grid.columns[this.choice.by].name}.`);
    if (this.grid.shown < this.grid.rows) notes.push(`Draws the first ${this.grid.shown.toLocaleString("en")} rows only.`);
    if (lines.some((line) => new Set(line.x).size < line.x.length)) notes.push("Of rows with the same x, a line has the last.");
    if (instant) notes.push("Times are as the process stores them, without a time zone.");
    this.note.textContent = notes.join(" ");
  }

  // Names the lines, with the texts of their cells in the rows at the cursor: a drawn number may have fewer digits.
  showKey(lines, rows) {
    const items = lines.map((line, i) => {
      const sample = element("i", {className: `c${i % 6} d${Math.floor(i / 6) % 3}`});
      const row = rows === null ? undefined : rows[i];
      return element("li", {}, sample, line.label, row === undefined ? "" : ": " + (line.column.cells[row] || "null"));
    });
    const row = rows === null ? undefined : rows.find((one) => one !== undefined);
    if (row !== undefined) {
      const x = this.choice.x === ROW_NUMBER ? "row " + row : this.grid.columns[this.choice.x].cells[row];
      items.unshift(element("li", {className: "quiet", textContent: x}));
    }
    this.key.replaceChildren(...items);
  }
}
