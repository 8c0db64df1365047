#include "cli/table_bytes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "base/byte_buffer.h"
#include "base/status.h"
#include "mem/tier.h"
#include "table/batch.h"
#include "table/symbols.h"
#include "table/table.h"

namespace tickstack::cli {
namespace {

constexpr size_t kRowsAtOnce = 16'384;

// Returns the symbol of a row: number n occurs with frequency 1/n, spread evenly over the rows.
std::string SymbolOf(size_t row) {
  constexpr double kGolden = 0.6180339887498949;
  const double at = static_cast<double>(row) * kGolden;
  const auto number =
      static_cast<size_t>(std::pow(static_cast<double>(kDaySymbols), at - std::floor(at)));
  return fmt::format("S{}", number);
}

enum class Values : uint8_t {
  kAny,
  kDaySymbols,
  kRowNumbers,  // As far as the type allows.
};

// Returns how to fill a column: key columns get distinct values.
Values ValuesOf(const Table& table, size_t column) {
  if (static_cast<int>(column) == table.indexed_column()) return Values::kDaySymbols;
  return column < table.schema().key_columns ? Values::kRowNumbers : Values::kAny;
}

ByteBuffer Elements(Type type, Values values, size_t begin_row, size_t rows) {
  ByteBuffer bytes;
  if (IsVectorType(type) && type != Type::kSymbol) {
    std::string element(WidthOf(type), '\0');
    for (size_t row = begin_row; row < begin_row + rows; ++row) {
      if (values == Values::kRowNumbers) {
        std::memcpy(element.data(), &row, std::min(sizeof(row), element.size()));
      }
      bytes.Append(element);
    }
    return bytes;
  }
  for (size_t row = begin_row; row < begin_row + rows; ++row) {
    if (type == Type::kList) {
      bytes.AppendLittle(static_cast<uint8_t>(Type::kChar));  // An empty string.
      bytes.AppendLittle(uint8_t{0});
      bytes.AppendLittle(int32_t{0});
    } else {
      if (values == Values::kDaySymbols) bytes.Append(SymbolOf(row));
      if (values == Values::kRowNumbers) bytes.Append(fmt::format("K{}", row));
      bytes.AppendLittle(uint8_t{0});
    }
  }
  return bytes;
}

}  // namespace

absl::StatusOr<TableBytes> MeasureTableBytes(const Schema& schema, size_t rows,
                                             size_t rows_per_chunk) {
  const std::unique_ptr<mem::Tier> tier = mem::MakeDramTier("measured");
  SymbolTable symbols;
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<Table> table,
                      Table::Create(schema, &symbols, {tier.get(), {}, nullptr},
                                    {.rows_per_chunk = rows_per_chunk}));
  for (size_t begin_row = 0; begin_row < rows; begin_row += kRowsAtOnce) {
    const size_t batch_rows = std::min(kRowsAtOnce, rows - begin_row);
    std::vector<ByteBuffer> bytes;
    std::vector<ColumnView> columns;
    bytes.reserve(schema.columns.size());
    for (size_t i = 0; i < schema.columns.size(); ++i) {
      bytes.push_back(Elements(schema.columns[i].type, ValuesOf(*table, i), begin_row, batch_rows));
      columns.push_back(
          {.type = schema.columns[i].type, .rows = batch_rows, .data = bytes.back().span()});
    }
    TS_RETURN_IF_ERROR(table->Append({columns, batch_rows}));
  }
  TableBytes taken;
  for (size_t i = 0; i < schema.columns.size(); ++i)
    taken.columns.push_back(table->column_bytes(i));
  taken.index = table->index_bytes();
  return taken;
}

}  // namespace tickstack::cli
