#pragma once

// Formats q values as text, for people and for programs.
//
// Text is q's own display: atoms and vectors as q writes them (`` `a`b``, `1 2 3`, `0Np`), a table
// as aligned columns under a rule, where a null cell is blank. Numbers are written with as few
// digits as read back as the same number.
//
// JSON: an atom is a scalar, a vector or list an array, a string (char vector) a string, a table an
// array of row objects, a keyed table the same with its key columns first, a dictionary an object.
// A null of any type is null, but a blank char is " ". Temporal values are ISO 8601 texts:
// "2013-10-07T09:30:00.123456789", "2013-10-07", "09:30:00.123"; a timespan is q's
// "0D09:30:00.123456789". Infinite floats and times are "inf" and "-inf". Text that is not UTF-8
// has U+FFFD for invalid bytes. Numbers keep all of their digits.
//
// CSV: a table with a line of names first, else a line per element; cells as in JSON without the
// quotes, nulls empty, quoted as RFC 4180 says; lines end with LF.
//
// XML: as kdb+ writes it, `<R>` with an `<r>` for each row, which has an element for each column.
// The element is named like the column, or is `<column name="...">` if XML allows no such name. A
// workbook is SpreadsheetML, which spreadsheets open: a row of names, then the rows; times, and
// numbers of more than 15 digits, are texts. Cells are as in CSV. A dictionary has the columns
// `key` and `value`; any other value that is not a table has the column `value`.
//
// Grid: what a page needs to show a value, as JSON. A table, a dictionary or a list has columns of
// texts, each cell as CellText writes it, so that a browser, whose numbers are doubles, does not
// change one. Only the first rows are there, within GridLimits; a longer cell ends with `..`.
//
//   {"kind":"table","rows":3,"shown":2,"cut":0,"keys":1,
//    "columns":[{"name":"sym","type":"s","cells":["A","B"]}]}
//
// `kind` is `table`, `dictionary` (columns `key` and `value`), `list` (column `value`), `text` (an
// atom, a string, a function; `text` instead of columns) or `nothing` (`::`). `keys` is the number
// of key columns, which come first; `cut` the number of cells that are not whole. `type` is the
// letter that `meta` shows.
//
// Cost: one pass; memory is that of the text. Errors: none, every value has a text. Threads: any.

#include <cstddef>
#include <string>

#include "table/value.h"

namespace tickstack {

// Limits for showing a value on a terminal. Omitted parts are marked by `..`.
struct TextLimits {
  size_t lines = SIZE_MAX;
  size_t columns = SIZE_MAX;
};

// Limits of a grid. With them its text has little more than 4 MiB, which a browser parses without a
// pause that is noticed.
struct GridLimits {
  size_t rows = 200'000;
  size_t bytes = size_t{4} << 20;  // Size of all cells; the row that reaches it is the last one.
  size_t cell_bytes = 4'000;
  size_t text_bytes = 200'000;  // Size of the text of a value without cells.
};

std::string FormatText(const Value& value, const TextLimits& limits = {});  // Ends with LF.
std::string InlineText(const Value& value);  // On one line, as within a list: `(1;2 3;"abc")`.
// Element `i` of a column as a table's cell shows it: no suffix, no backtick, a null is blank.
std::string CellText(const Value& column, size_t i);
std::string FormatJson(const Value& value);                                 // Has no LF.
std::string FormatCsv(const Value& value);                                  // Ends with LF.
std::string FormatGrid(const Value& value, const GridLimits& limits = {});  // Has no LF.
std::string FormatXml(const Value& value);                                  // Ends with LF.
std::string FormatWorkbook(const Value& value);                             // Ends with LF.

}  // namespace tickstack
