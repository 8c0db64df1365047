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

std::string FormatText(const Value& value, const TextLimits& limits = {});  // Ends with LF.
std::string InlineText(const Value& value);  // On one line, as within a list: `(1;2 3;"abc")`.
// Element `i` of a column as a table's cell shows it: no suffix, no backtick, a null is blank.
std::string CellText(const Value& column, size_t i);
std::string FormatJson(const Value& value);      // Has no LF.
std::string FormatCsv(const Value& value);       // Ends with LF.
std::string FormatXml(const Value& value);       // Ends with LF.
std::string FormatWorkbook(const Value& value);  // Ends with LF.

}  // namespace tickstack
