// Shows the rows of an answer. Only those that can be seen are elements of the page, between two gaps as high as
// the others, so the time of an answer does not depend on its rows.

const ROW_HEIGHT = 26;  // --row of console.css.
const MORE_ROWS = 8;  // Above and below the visible ones.
const WIDTH_MAX = 48;  // Characters; the line below the table shows a longer value whole.
const NUMBERS = "bxhijefpmdznuvt";

export const isNumeric = (column) => NUMBERS.includes(column.type);

// Names of types, for the heads of columns.
const TYPES = {b: "boolean", g: "guid", x: "byte", h: "short", i: "int", j: "long", e: "real", f: "float", c: "char",
  s: "symbol", p: "timestamp", m: "month", d: "date", z: "datetime", n: "timespan", u: "minute", v: "second",
  t: "time", C: "string"};

export class RowsView {
  constructor(place, cell) {
    this.place = place;
    this.cell = cell;
    this.grid = null;
    this.here = null;  // {row, column} of the selected cell.
  }

  show(grid) {
    this.grid = grid.columns === undefined ? null : grid;
    this.here = null;
    this.cell.hidden = true;
    this.place.replaceChildren();
    if (this.grid !== null) return this.build();
    if (grid.kind === "nothing") return;
    const text = document.createElement("pre");
    text.className = "text";
    text.tabIndex = 0;
    text.textContent = grid.text;
    this.place.append(text);
  }

  build() {
    const {columns, keys, shown, rows} = this.grid;
    this.box = document.createElement("div");
    this.box.className = "rows";
    this.box.tabIndex = 0;
    this.table = document.createElement("table");
    this.table.setAttribute("role", "grid");
    this.table.setAttribute("aria-rowcount", String(rows + 1));
    this.table.setAttribute("aria-label", "Rows");
    const group = document.createElement("colgroup"), head = document.createElement("thead"), line = document.createElement("tr");
    let characters = 0;
    const add = (name, width) => {
      characters += width;
      const column = document.createElement("col"), cell = document.createElement("th");
      column.style.width = `calc(${width}ch + 1.5rem)`;
      cell.scope = "col";
      cell.textContent = name;
      group.append(column);
      line.append(cell);
      return cell;
    };
    add("", String(shown).length).className = "i";
    columns.forEach((column, i) => {
      let width = column.name.length + column.type.length + 2;
      for (const text of column.cells) if (text.length > width) width = text.length;
      const cell = add(column.name, Math.min(width, WIDTH_MAX) + 1);
      cell.classList.toggle("n", isNumeric(column));
      cell.classList.toggle("k", i < keys);
      const type = document.createElement("small");
      type.textContent = column.type.trim();
      type.title = TYPES[column.type] || "list";
      cell.append(type);
    });
    head.append(line);
    this.table.style.width = `calc(${characters}ch + ${1.5 * (columns.length + 1)}rem)`;
    this.body = document.createElement("tbody");
    this.table.append(group, head, this.body);
    this.box.append(this.table);
    this.place.append(this.box);
    this.box.addEventListener("scroll", () => this.renderSoon());
    this.box.addEventListener("keydown", (event) => this.onKey(event));
    this.body.addEventListener("click", (event) => {
      const cell = event.target.closest("td[data-column]");
      if (cell !== null) this.goTo(Number(cell.parentElement.dataset.row), Number(cell.dataset.column));
    });
    new ResizeObserver(() => this.renderSoon()).observe(this.box);
    this.render();
  }

  renderSoon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.render();
    });
  }

  // Makes the elements of the rows that can be seen.
  render() {
    if (this.grid === null || this.place.offsetParent === null) return;
    const count = this.grid.shown;
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW_HEIGHT) - MORE_ROWS);
    const visible = Math.ceil((this.box.clientHeight || innerHeight) / ROW_HEIGHT);
    const end = Math.min(count, first + visible + 2 * MORE_ROWS);
    const lines = [this.gap(first)];
    for (let row = first; row < end; ++row) lines.push(this.line(row));
    lines.push(this.gap(count - end));
    this.body.replaceChildren(...lines);
  }

  gap(rows) {
    const line = document.createElement("tr"), cell = document.createElement("td");
    line.className = "gap";
    line.setAttribute("aria-hidden", "true");
    cell.colSpan = this.grid.columns.length + 1;
    cell.style.height = rows * ROW_HEIGHT + "px";
    line.append(cell);
    line.hidden = rows === 0;
    return line;
  }

  line(row) {
    const line = document.createElement("tr"), number = document.createElement("th");
    line.dataset.row = String(row);
    line.setAttribute("aria-rowindex", String(row + 2));
    number.className = "i";
    number.scope = "row";
    number.textContent = String(row);
    line.append(number);
    this.grid.columns.forEach((column, i) => {
      const cell = document.createElement("td");
      cell.textContent = column.cells[row];
      cell.dataset.column = String(i);
      if (isNumeric(column)) cell.classList.add("n");
      if (i < this.grid.keys) cell.classList.add("k");
      if (this.here !== null && this.here.row === row && this.here.column === i) {
        cell.classList.add("here");
        cell.id = "here";
        cell.setAttribute("aria-selected", "true");
      }
      line.append(cell);
    });
    return line;
  }

  // Selects a cell, scrolls to it, and shows its whole text below the table.
  goTo(row, column) {
    const {columns, shown} = this.grid;
    if (shown === 0 || columns.length === 0) return;
    this.here = {row: Math.max(0, Math.min(shown - 1, row)), column: Math.max(0, Math.min(columns.length - 1, column))};
    const top = this.here.row * ROW_HEIGHT, room = this.box.clientHeight - 2 * ROW_HEIGHT;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top > this.box.scrollTop + room) this.box.scrollTop = top - room;
    this.render();
    this.table.setAttribute("aria-activedescendant", "here");
    document.getElementById("here").scrollIntoView({block: "nearest", inline: "nearest"});
    const chosen = columns[this.here.column];
    this.cell.hidden = false;
    this.cell.textContent = `${chosen.name}, row ${this.here.row}: ${chosen.cells[this.here.row]}`;
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const {row, column} = this.here || {row: -1, column: 0};
    const page = Math.max(1, Math.floor(this.box.clientHeight / ROW_HEIGHT) - 2);
    const moves = {ArrowDown: [row + 1, column], ArrowUp: [row - 1, column], ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1], PageDown: [row + page, column], PageUp: [row - page, column],
      Home: [0, column], End: [this.grid.shown - 1, column]};
    if (moves[event.key] === undefined) return;
    event.preventDefault();
    this.goTo(...moves[event.key]);
  }
}
