#pragma once

// Formats q values as text, for people and for programs.
//
// Text is q's own display: atoms and vectors as q writes them (`` `a`b``, `1 2 3`, `0Np`), a table
// as aligned columns under a line of column names and a rule, with blanks for nulls. Numbers have
// the fewest digits that give the same number when they are read back.
//
// JSON: an atom is a scalar, a vector or list an array, a string (char vector) a string, a table an
// array of row objects, a keyed table such an array with its key columns first, a dictionary an
// object. A null of any type is null, but a blank char is " ". Temporal values are ISO 8601 texts:
// "2013-10-07T09:30:00.123456789", "2013-10-07", "09:30:00.123"; a timespan is q's
// "0D09:30:00.123456789". Infinite floats and times are "inf" and "-inf". Text that is not UTF-8
// has U+FFFD for invalid bytes. Numbers keep all of their digits.
//
// CSV: a table has a line of column names and a line per row; any other value has a line per
// element. A cell has the text of JSON without quotes, or nothing for a null, and is quoted as RFC
// 4180 says. Lines end with LF.
//
// XML: as kdb+ writes it, `<R>` with an `<r>` for each row, which has an element for each column.
// The element is named like the column, or is `<column name="...">` if XML allows no such name. A
// workbook is SpreadsheetML, which spreadsheets open: a row of names, then the rows; times, and
// numbers of more than 15 digits, are texts. Cells are as in CSV. A dictionary has the columns
// `key` and `value`; any other value that is not a table has the column `value`.
//
// Grid: a value for display in a web page, as JSON. A table, a dictionary or a list has columns of
// texts. Numbers are texts, too, as CellText writes them, because a browser would round large ones
// to a double. The grid has only the first rows, within GridLimits; a cell that was cut ends with
// `..`.
//
//   {"kind":"table","rows":3,"shown":2,"cut":0,"keys":1,
//    "columns":[{"name":"sym","type":"s","cells":["A","B"]}]}
//
// `kind` is `table`, `dictionary` (columns `key` and `value`), `list` (column `value`), `text` (an
// atom, a string or a function: a member `text` replaces `columns`) or `nothing` (`::`). `keys` is
// the number of key columns, which come first; `cut` is the number of cells that were cut. `type`
// is the letter that `meta` shows.
//
// Cost: one pass. Memory: the text. Errors: none, since every value has a text. Threads: any.

#include <cstddef>
#include <string>

#include "table/value.h"

namespace tickstack {

// Limits for showing a value on a terminal. Omitted parts are marked by `..`.
struct TextLimits {
  size_t lines = SIZE_MAX;
  size_t columns = SIZE_MAX;
};

// Limits of a grid. By default, its text is little more than 4 MiB, which a browser parses without
// a noticeable pause.
struct GridLimits {
  size_t rows = 200'000;
  size_t bytes = size_t{4} << 20;  // Size of all cells; the row that reaches it is the last one.
  size_t cell_bytes = 4'000;
  size_t text_bytes = 200'000;  // Size of the text of a value without cells.
};

std::string FormatText(const Value& value, const TextLimits& limits = {});  // Ends with LF.
std::string InlineText(const Value& value);  // On one line, such as `(1;2 3;"abc")`.
// Returns element `i` of a column as a cell of a table shows it: without suffix or backtick, and
// blank for a null.
std::string CellText(const Value& column, size_t i);
std::string FormatJson(const Value& value);                                 // Has no LF.
std::string FormatCsv(const Value& value);                                  // Ends with LF.
std::string FormatGrid(const Value& value, const GridLimits& limits = {});  // Has no LF.
std::string FormatXml(const Value& value);                                  // Ends with LF.
std::string FormatWorkbook(const Value& value);                             // Ends with LF.

}  // namespace tickstack
