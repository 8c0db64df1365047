#pragma once

// The schemas of tables: names and types of columns, and which of them are the key.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "table/batch.h"
#include "table/types.h"

namespace tickstack {

struct ColumnSpec {
  std::string name;
  Type type;  // A vector type, or kList for strings and other nested columns.
  friend bool operator==(const ColumnSpec&, const ColumnSpec&) = default;
};

// The shape of one table: its name and columns in order. The first `key_columns` of them are its
// key; 0 if the table is not keyed.
struct Schema {
  std::string table;
  std::vector<ColumnSpec> columns;
  size_t key_columns = 0;

  // Returns the index of a column, or -1.
  int Find(std::string_view column) const;
  friend bool operator==(const Schema&, const Schema&) = default;
};

// True for a valid name of a table or column: letters, digits and _, starting with a letter.
bool IsSchemaName(std::string_view text);

// Parses `time p, sym s, price f`: columns separated by commas, each a name and a type letter; `*`
// or `C` is a string or other nested column. Columns before `|` are the key: `sym s, minute p |
// open f`.
absl::StatusOr<Schema> ParseSchema(std::string_view table, std::string_view columns);
std::string FormatSchema(const Schema& schema);

// Returns the classic tick schema: trade and quote, as in the sample of kdb+tick.
std::vector<Schema> DefaultSchemas();

// Checks that the batch has the schema's number of columns, and each column the schema's type; a
// kList column accepts any type. If not, returns kInvalidArgument, with the table, the column, and
// what was found and expected.
absl::Status CheckBatch(const Schema& schema, const BatchView& batch);

}  // namespace tickstack
