#pragma once

// Helpers for tests of sources: their rows as text.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "feed/sources/source.h"
#include "table/value.h"
#include "wire/codec.h"

namespace tickstack::feed {

// Returns a cell as text: numbers in full, symbols and chars unchanged.
inline std::string CellText(const Value& column, size_t row) {
  const Type type = column.type();
  if (type == Type::kSymbol) {
    return std::string(column.is_atom() ? column.symbol() : column.symbols()[row]);
  }
  if (type == Type::kFloat) return fmt::format("{}", column.span<double>()[row]);
  if (type == Type::kInt) return fmt::format("{}", column.span<int32_t>()[row]);
  if (type == Type::kList) return std::string(column.items()[row].text());
  if (type == Type::kChar) return std::string(1, column.span<char>()[row]);
  if (type == Type::kBoolean) return fmt::format("{}", column.span<uint8_t>()[row]);
  return fmt::format("{}", column.span<int64_t>()[row]);
}

// Returns `t,s,1.5,...` for each row of x, which must be a list of vectors or of atoms.
inline std::vector<std::string> RowTexts(std::span<const std::byte> x) {
  const absl::StatusOr<Value> value = wire::Decode(x);
  EXPECT_TRUE(value.ok()) << value.status();
  if (!value.ok() || !value->is_list() || value->items().empty()) return {};
  const std::vector<Value>& columns = value->items();
  std::vector<std::string> rows(columns[0].count());
  for (const Value& column : columns) {
    // Beside atoms, a string is the cell of a nested column.
    const bool is_cell = columns[0].is_atom() && !column.is_atom();
    EXPECT_TRUE(is_cell || column.count() == rows.size()) << column.count();
    for (size_t row = 0; row < rows.size(); ++row) {
      if (!rows[row].empty()) rows[row] += ',';
      rows[row] += is_cell ? std::string(column.text()) : CellText(column, row);
    }
  }
  return rows;
}

using RowsByTable = std::map<std::string, std::vector<std::string>, std::less<>>;

// Appends to `rows` the rows that are due at `now_ns`, of at most `batches` batches. Checks that
// each batch continues its table.
inline absl::Status Drain(Source& source, int64_t now_ns, RowsByTable& rows,
                          int64_t batches = INT64_MAX) {
  for (; batches > 0; --batches) {
    absl::StatusOr<const FeedBatch*> batch = source.Next(now_ns);
    if (!batch.ok()) return batch.status();
    if (*batch == nullptr) return absl::OkStatus();
    std::vector<std::string>& table = rows[std::string((*batch)->table)];
    EXPECT_EQ((*batch)->first_row, static_cast<int64_t>(table.size()));
    for (std::string& row : RowTexts((*batch)->data)) table.push_back(std::move(row));
    EXPECT_EQ((*batch)->first_row + (*batch)->rows, static_cast<int64_t>(table.size()));
  }
  return absl::OkStatus();
}

// Reports where two runs differ, without printing all of them. Without `times`, ignores the first
// column, which has the due times.
inline void ExpectSameRows(const RowsByTable& found, const RowsByTable& expected,
                           bool times = true) {
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [table, rows] : expected) {
    ASSERT_TRUE(found.contains(table)) << table;
    const std::vector<std::string>& same = found.at(table);
    ASSERT_EQ(same.size(), rows.size()) << table;
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto cut = [times](const std::string& row) {
        return times ? row : row.substr(row.find(','));
      };
      ASSERT_EQ(cut(same[i]), cut(rows[i])) << table << " row " << i;
    }
  }
}

inline NameMap<int64_t> Counts(const RowsByTable& rows) {
  NameMap<int64_t> counts;
  for (const auto& [table, texts] : rows) counts[table] = static_cast<int64_t>(texts.size());
  return counts;
}

}  // namespace tickstack::feed
