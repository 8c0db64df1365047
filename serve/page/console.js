// The query console: asks over HTTP, shows the answer as rows or as a chart, keeps a history, downloads.
//
//   console_editor.js   text field: completion, and the mark of an error
//   console_table.js    rows, of which only the visible ones are in the page
//   console_chart.js    chart, drawn by uPlot
//
// Texts of answers enter the page as text nodes only.
import {Editor, utf16Index} from "./console_editor.js";
import {RowsView} from "./console_table.js";
import {ChartView} from "./console_chart.js";

const HISTORY = "tickstack.console.history";
const HISTORY_MAX = 200;  // Expressions.
const HISTORY_TEXT_MAX = 10_000;  // A longer expression is not kept.
const ELAPSED_AFTER_MS = 400;
const byId = (id) => document.getElementById(id);

class QuestionError extends Error {
  constructor(text, position) {
    super(text);
    this.position = position;  // Byte offset in the expression; undefined if it is not known.
  }
}

// Returns the response; throws QuestionError with the process's own text.
async function post(form, text, signal) {
  // Not relative to the page: its address may have a user and a password, with which fetch refuses to ask.
  const response = await fetch(location.origin + "/" + form, {
    method: "POST", body: text, signal, cache: "no-store",
    headers: {"Content-Type": "application/octet-stream"},  // The body is the expression as it is.
  });
  if (response.ok) return response;
  const body = await response.text();
  let told = {error: body.trim() || response.status + " " + response.statusText};
  try {
    told = JSON.parse(body);
  } catch {
    // The error of another form is a plain text.
  }
  throw new QuestionError(String(told.error), told.position);
}

const History = {
  read() {
    try {
      const kept = JSON.parse(localStorage.getItem(HISTORY));
      return Array.isArray(kept) ? kept.filter((text) => typeof text === "string").slice(0, HISTORY_MAX) : [];
    } catch {
      return [];  // Storage is off, or something else wrote there.
    }
  },
  write(texts) {
    try {
      localStorage.setItem(HISTORY, JSON.stringify(texts));
    } catch {
      // Storage is off or full: this page works without a history.
    }
  },
  add(text) {
    if (text.length > HISTORY_TEXT_MAX) return;
    this.write([text, ...this.read().filter((other) => other !== text)].slice(0, HISTORY_MAX));
  },
};

const plural = (count, noun) => count.toLocaleString("en") + " " + noun + (count === 1 ? "" : "s");

function timeText(ms) {
  return ms < 1000 ? ms.toFixed(ms < 10 ? 1 : 0) + " ms" : (ms / 1000).toFixed(2) + " s";
}

class Console {
  constructor() {
    this.editor = new Editor(byId("text"), byId("mirror"), byId("words"));
    this.rows = new RowsView(byId("rows"), byId("cell"));
    this.chart = new ChartView(byId("chart"));
    this.running = null;  // AbortController of the request that runs.
    this.asked = "";  // Expression of the shown answer.
    this.grid = null;
    this.recalled = -1;  // Index in the history of the text that the editor shows.
    byId("where").textContent = location.host;
    this.listen();
    this.showHistory();
    if (location.hash.length > 1) this.editor.set(decodeHash(location.hash));
    requestAnimationFrame(() => setTimeout(() => this.lookUpNames()));
  }

  listen() {
    byId("question").addEventListener("submit", (event) => {
      event.preventDefault();
      this.run();
    });
    byId("cancel").addEventListener("click", () => this.cancel());
    byId("text").addEventListener("keydown", (event) => this.onKey(event));
    byId("text").addEventListener("input", () => { this.recalled = -1; });
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.defaultPrevented) this.cancel();
    });
    for (const button of document.querySelectorAll(".downloads button")) {
      button.addEventListener("click", () => this.download(button.dataset.form));
    }
    byId("forget").addEventListener("click", () => {
      History.write([]);
      this.showHistory();
    });
    const tabs = [byId("tab-table"), byId("tab-chart")];
    for (const tab of tabs) {
      tab.addEventListener("click", () => this.select(tab));
      tab.addEventListener("keydown", (event) => {
        if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
        const other = tabs[1 - tabs.indexOf(tab)];
        this.select(other);
        other.focus();
      });
    }
  }

  onKey(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.run();
    } else if (event.ctrlKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
      event.preventDefault();
      this.recall(event.key === "ArrowUp" ? 1 : -1);
    }
  }

  recall(step) {
    const texts = History.read();
    const next = Math.max(-1, Math.min(texts.length - 1, this.recalled + step));
    if (next === this.recalled) return;
    this.editor.set(next < 0 ? "" : texts[next]);
    this.recalled = next;
  }

  cancel() {
    if (this.running !== null) this.running.abort();
  }

  // Runs `work` as the only request. Shows how long it takes, and its error.
  async alone(work, text) {
    this.cancel();
    const running = new AbortController();
    this.running = running;
    const begin = performance.now();
    const elapsed = () => performance.now() - begin;
    const timer = setInterval(() => {
      if (elapsed() > ELAPSED_AFTER_MS) byId("elapsed").textContent = "running for " + (elapsed() / 1000).toFixed(1) + " s";
    }, 100);
    this.showError(null);
    byId("cancel").disabled = false;
    let end = "";
    try {
      await work(running.signal, elapsed);
    } catch (error) {
      if (this.running !== running) end = "";  // Its end interests nobody.
      else if (error.name === "AbortError") end = "cancelled after " + timeText(elapsed());
      else this.showError(error, text);
    }
    clearInterval(timer);
    if (this.running !== running) return;  // The next request has begun.
    this.running = null;
    if (text !== this.asked) this.noteEarlier();
    byId("cancel").disabled = true;
    byId("elapsed").textContent = end;
  }

  run() {
    const text = this.editor.text();
    if (text.trim() === "") return;
    this.editor.close();
    this.alone(async (signal, elapsed) => {
      const response = await post(".grid", text, signal);
      const grid = await response.json();
      if (signal.aborted) return;
      this.asked = text;
      this.show(grid, elapsed());
      History.add(text);
      this.showHistory();
    }, text);
  }

  show(grid, ms) {
    this.grid = grid;
    byId("answer").hidden = false;
    const has_rows = grid.columns !== undefined;
    const what = has_rows ? plural(grid.rows, grid.kind === "list" || grid.kind === "dictionary" ? "item" : "row")
               : grid.kind === "nothing" ? "Done; the expression has no result" : "";
    byId("facts").textContent = (what ? what + ", " : "") + timeText(ms);
    const notes = [];
    if (has_rows && grid.shown < grid.rows) {
      notes.push(`Shows the first ${grid.shown.toLocaleString("en")} of ${grid.rows.toLocaleString("en")} rows; a download has all.`);
    }
    if (grid.cut > 0) {
      notes.push(has_rows ? `Long values end with “..” here: ${grid.cut.toLocaleString("en")}. A download has them whole.`
                          : "The text is longer and ends with “..” here; a download has all.");
    }
    byId("note").textContent = notes.join(" ");
    byId("note").hidden = notes.length === 0;
    byId("tab-chart").disabled = !has_rows || grid.shown === 0;
    document.querySelector("[data-form=parquet]").disabled = grid.kind !== "table";
    this.rows.show(grid);
    const chart = byId("tab-chart").getAttribute("aria-selected") === "true" && !byId("tab-chart").disabled;
    this.select(chart ? byId("tab-chart") : byId("tab-table"));
  }

  // An answer stays when the next expression fails, and says whose it is.
  noteEarlier() {
    if (this.grid === null) return;
    byId("note").textContent = "This is the answer of an earlier expression: " + this.asked.slice(0, 200);
    byId("note").hidden = false;
  }

  select(tab) {
    if (tab.disabled) return;
    for (const name of ["table", "chart"]) {
      const chosen = tab.id === "tab-" + name;
      byId("tab-" + name).setAttribute("aria-selected", String(chosen));
      byId("tab-" + name).tabIndex = chosen ? 0 : -1;
      byId(name).hidden = !chosen;
    }
    if (tab.id === "tab-chart") this.chart.show(this.grid);
    else this.rows.render();
  }

  showError(error, asked) {
    const place = byId("error");
    place.replaceChildren();
    this.editor.mark(null);
    place.hidden = error === null;
    if (error === null) return;
    place.append(error instanceof QuestionError ? error.message : "The process does not answer: " + error.message);
    if (typeof error.position !== "number" || this.editor.text() !== asked) return;
    const at = utf16Index(asked, error.position);
    const before = asked.slice(0, at).split("\n");
    this.editor.mark(at);
    const jump = document.createElement("button");
    jump.type = "button";
    jump.textContent = `line ${before.length}, column ${before.at(-1).length + 1}`;
    jump.addEventListener("click", () => this.editor.moveTo(at));
    place.append(jump);
  }

  download(form) {
    const text = this.asked;
    this.alone(async (signal) => {
      const response = await post("answer." + form, text, signal);
      const blob = await response.blob();
      if (signal.aborted) return;
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = "answer." + form;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    }, text);
  }

  showHistory() {
    byId("earlier").replaceChildren(...History.read().map((text) => {
      const item = document.createElement("li"), button = document.createElement("button");
      button.type = "button";
      button.textContent = text.replace(/\s*\n\s*/g, " ");
      button.addEventListener("click", () => {
        this.editor.set(text);
        byId("text").focus();
      });
      item.append(button);
      return item;
    }));
  }

  // Asks for the names that the editor completes: those that this user may see.
  async lookUpNames() {
    try {
      const answer = await post(".json", "{[askedTables](askedTables;cols each askedTables;key`.q)}tables[]");
      this.editor.setNames(await answer.json());
    } catch {
      this.editor.setNames([[], [], []]);  // Without names the editor still knows q's phrases.
    }
  }
}

// A link may bring an expression: /console#count%20trade. It is shown, and runs when the user says so.
function decodeHash(hash) {
  try {
    return decodeURIComponent(hash.slice(1));
  } catch {
    return "";
  }
}

new Console();
