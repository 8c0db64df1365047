// The text field of the console: completes names of the process, and marks where an error is.

const WORDS_MAX = 50;  // Shown at once; typing on narrows the list.
const LINES_MIN = 3, LINES_MAX = 16;
const PHRASES = ["select", "exec", "update", "delete", "from", "where", "by", "distinct"];
const NAME_END = /[A-Za-z.][A-Za-z0-9_.]*$/;

const encoder = new TextEncoder();

// Returns the index in `text` of the byte `position` of its UTF-8.
export function utf16Index(text, position) {
  let bytes = 0, index = 0;
  for (const character of text) {
    if (bytes >= position) break;
    bytes += encoder.encode(character).length;
    index += character.length;
  }
  return index;
}

// Returns whether the end of `text` is within a string or a comment, where no name is completed.
export function isWithinText(text) {
  let quoted = false;
  for (let i = 0; i < text.length; ++i) {
    const c = text[i];
    if (quoted) {
      if (c === "\\") ++i;
      else if (c === '"') quoted = false;
    } else if (c === '"') {
      quoted = true;
    } else if (c === "/" && (i === 0 || /\s/.test(text[i - 1]))) {
      const end = text.indexOf("\n", i);
      if (end < 0) return true;
      i = end;
    }
  }
  return quoted;
}

export class Editor {
  constructor(field, mirror, list) {
    this.field = field;
    this.mirror = mirror;
    this.list = list;
    this.names = [];  // {name, hint, columnOf: Set of tables or null}
    this.tables = [];
    this.chosen = -1;  // Index of the selected item of the list.
    this.marked = null;
    field.addEventListener("input", () => {
      this.marked = null;
      this.reflect();
      this.suggest(false);
    });
    field.addEventListener("keydown", (event) => this.onKey(event));
    field.addEventListener("scroll", () => { this.mirror.scrollTop = field.scrollTop; });
    field.addEventListener("click", () => this.close());
    field.addEventListener("blur", () => this.close());
    list.addEventListener("mousedown", (event) => {
      event.preventDefault();  // The field keeps the focus.
      const item = event.target.closest("li");
      if (item !== null) this.accept(Number(item.dataset.index));
    });
    new ResizeObserver(() => this.fit()).observe(field);
    this.reflect();
  }

  text() { return this.field.value; }

  set(text) {
    this.field.value = text;
    this.field.setSelectionRange(text.length, text.length);
    this.marked = null;
    this.reflect();
    this.close();
  }

  moveTo(index) {
    this.field.focus();
    this.field.setSelectionRange(index, index);
  }

  // Underlines the token at an index; null: nothing.
  mark(index) {
    this.marked = index;
    this.reflect();
  }

  // `answer` is a list of the tables, the columns of each, and the functions.
  setNames([tables, columns, functions]) {
    const found = new Map();
    const add = (name, hint, table) => {
      const old = found.get(name);
      if (old === undefined) found.set(name, {name, hint, columnOf: table === undefined ? null : new Set([table])});
      else if (table !== undefined && old.columnOf !== null) old.columnOf.add(table);
    };
    this.tables = (tables || []).filter((name) => typeof name === "string");
    for (const table of this.tables) add(table, "table");
    this.tables.forEach((table, i) => {
      for (const column of (columns || [])[i] || []) add(String(column), "column", table);
    });
    for (const name of functions || []) if (typeof name === "string") add(name, "function");
    for (const word of PHRASES) add(word, "phrase");
    this.names = [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    this.field.dataset.names = String(this.names.length);
  }

  // Writes the field's text to the mirror, with the mark.
  reflect() {
    const text = this.text();
    this.mirror.replaceChildren();
    if (this.marked === null) {
      this.mirror.append(text + "\n");
    } else {
      const token = text.slice(this.marked).match(/^([A-Za-z.][\w.]*|`[\w.:]*|[\d.][\w.:]*|"(?:[^"\\]|\\.)*"?|\S)/);
      const length = token === null ? 0 : token[0].length;
      const mark = document.createElement("mark");
      mark.textContent = text.slice(this.marked, this.marked + length) || " ";
      this.mirror.append(text.slice(0, this.marked), mark, text.slice(this.marked + length) + "\n");
    }
    const lines = text.split("\n").length;
    this.field.rows = Math.max(LINES_MIN, Math.min(LINES_MAX, lines));
    this.fit();
  }

  fit() { this.mirror.scrollTop = this.field.scrollTop; }

  // Returns names that begin like the word before the cursor: first columns of the tables in the text, or of all
  // tables if it names none; after `from`, first tables.
  candidates(word, before) {
    const lower = word.toLowerCase(), text = this.text();
    const used = new Set(this.tables.filter((table) => new RegExp("(^|[^\\w.])" + table.replace(/\./g, "\\.") + "($|[^\\w.])").test(text)));
    const after_from = /\bfrom\s+$/.test(before);
    const rank = (entry) => {
      if (after_from) return entry.hint === "table" ? 0 : 2;
      if (entry.columnOf === null) return entry.hint === "function" ? 1 : 0;
      return used.size === 0 || [...entry.columnOf].some((table) => used.has(table)) ? 0 : 2;
    };
    return this.names.filter((entry) => entry.name.toLowerCase().startsWith(lower))
      .map((entry) => ({entry, rank: rank(entry), exact: entry.name.startsWith(word) ? 0 : 1}))
      .sort((a, b) => a.exact - b.exact || a.rank - b.rank)
      .slice(0, WORDS_MAX).map(({entry}) => entry);
  }

  // Opens the list for the word before the cursor; `asked`: also if there is no word yet.
  suggest(asked) {
    const end = this.field.selectionStart;
    const before = this.text().slice(0, end);
    const match = before.match(NAME_END);
    const word = match === null ? "" : match[0];
    const begin = end - word.length;
    const is_number = /[\d]$/.test(before.slice(0, begin));
    if (end !== this.field.selectionEnd || (word === "" && !asked) || is_number || isWithinText(before)) return this.close();
    const shown = this.candidates(word, before.slice(0, begin));
    if (shown.length === 0 || (shown.length === 1 && shown[0].name === word)) return this.close();
    this.open(shown, begin, end);
  }

  open(shown, begin, end) {
    this.word = {shown, begin, end};
    this.list.replaceChildren(...shown.map((entry, index) => {
      const item = document.createElement("li"), name = document.createElement("span"), hint = document.createElement("span");
      item.id = "word-" + index;
      item.dataset.index = String(index);
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", "false");
      item.classList.add("mono");
      name.textContent = entry.name;
      hint.textContent = entry.columnOf === null ? entry.hint : [...entry.columnOf].slice(0, 3).join(", ");
      item.append(name, hint);
      return item;
    }));
    this.list.hidden = false;
    this.field.setAttribute("aria-expanded", "true");
    this.choose(-1);
    this.place(begin);
  }

  // Puts the list under the word, within the editor.
  place(begin) {
    const probe = document.createElement("span");
    const text = this.text();
    probe.textContent = text.slice(begin) || " ";
    this.mirror.replaceChildren(text.slice(0, begin), probe);
    const at = probe.getClientRects()[0], box = this.field.getBoundingClientRect();
    this.reflect();
    const room = box.width - this.list.offsetWidth;
    this.list.style.left = Math.max(0, Math.min(at.left - box.left, room)) + "px";
    this.list.style.top = at.bottom - box.top + 4 + "px";
  }

  choose(index) {
    const items = this.list.children;
    if (this.chosen >= 0 && items[this.chosen]) items[this.chosen].setAttribute("aria-selected", "false");
    this.chosen = index;
    if (index < 0) return this.field.removeAttribute("aria-activedescendant");
    items[index].setAttribute("aria-selected", "true");
    items[index].scrollIntoView({block: "nearest"});
    this.field.setAttribute("aria-activedescendant", items[index].id);
  }

  accept(index) {
    const {shown, begin, end} = this.word;
    this.field.setRangeText(shown[index].name, begin, end, "end");
    this.marked = null;
    this.reflect();
    this.close();
  }

  close() {
    this.list.hidden = true;
    this.chosen = -1;
    this.field.setAttribute("aria-expanded", "false");
    this.field.removeAttribute("aria-activedescendant");
  }

  onKey(event) {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      return this.suggest(true);
    }
    if (this.list.hidden || event.ctrlKey || event.metaKey) return;
    const count = this.list.children.length;
    if (event.key === "ArrowDown") this.choose((this.chosen + 1) % count);
    else if (event.key === "ArrowUp") this.choose(this.chosen <= 0 ? count - 1 : this.chosen - 1);
    else if (event.key === "Tab" && !event.shiftKey) this.accept(Math.max(this.chosen, 0));
    else if (event.key === "Enter" && this.chosen >= 0) this.accept(this.chosen);
    else if (event.key === "Escape") this.close();
    else return;
    event.preventDefault();
  }
}
