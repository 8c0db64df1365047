#pragma once

// q's `0:` for text in memory: rows of a table as lines, and lines as columns (code.kx.com/q/ref:
// file text).

#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Returns the rows of a table as lines of fields, after a line of the columns' names. For a list of
// columns there is no such line. Times are written as in ISO 8601, and a field with the delimiter
// or the end of a line is quoted. Errors: `type` for a column that is neither a vector nor a list
// of strings, `length` for columns of several counts.
absl::StatusOr<Value> LinesOf(char delimiter, const Value& columns, Budget& budget);

// How lines are read.
struct DelimitedFormat {
  std::string_view types;  // A capital letter per field; a blank skips it, `*` keeps its text.
  char delimiter = ',';
  bool header = false;     // True if the first line has the columns' names.
  bool line_ends = false;  // True if a quoted field may have several lines.
};

// Returns the columns of lines: a text, or a list of strings. With a header they are a table. The
// fields of a text that is one line are atoms. Errors: `type`, and those of ReadText().
absl::StatusOr<Value> ReadDelimited(const DelimitedFormat& format, const Value& text,
                                    Budget& budget);

// The same of fields of fixed widths. `length` if there are not as many widths as types.
absl::StatusOr<Value> ReadFixedWidths(std::string_view types, std::span<const int64_t> widths,
                                      const Value& text, Budget& budget);

// Returns the keys and values of a text such as `a=1;b=2`. `format` is the letter of the keys' type
// (S, I or J), the separator of key and value, and that of the entries; a `*` before the latter
// says that values may be quoted. Errors: `type`, `length`.
absl::StatusOr<Value> ReadKeyValues(std::string_view format, std::string_view text, Budget& budget);

}  // namespace tickstack::query
