#include "disk/row_merge.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/status.h"

namespace tickstack::disk {
namespace {

constexpr uint64_t kBatchRows = 65'536;

// Calls f(batch, first row) for all rows of a reader.
template <typename F>
absl::Status EachBatch(RowReader& reader, F f) {
  for (uint64_t row = 0; row < reader.rows(); row += kBatchRows) {
    TS_ASSIGN_OR_RETURN(const BatchView batch,
                        reader.Read(row, std::min(row + kBatchRows, reader.rows())));
    TS_RETURN_IF_ERROR(f(batch, row));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<size_t>> KeyColumns(const Schema& schema,
                                               std::span<const std::string> keys) {
  std::vector<size_t> columns;
  for (const std::string& key : keys) {
    const int at = schema.Find(key);
    if (at < 0) return InvalidArgument("table {}: no column {} for a key", schema.table, key);
    const auto column = static_cast<size_t>(at);
    if (schema.columns[column].type == Type::kList) {
      return InvalidArgument("table {}: column {} is nested, expected another one for a key",
                             schema.table, key);
    }
    columns.push_back(column);
  }
  return columns;
}

// Returns the key of each row of a batch. A symbol ends with its NUL, and other elements have a
// fixed width, so keys of different values differ.
std::vector<std::string> KeysOf(const BatchView& batch, std::span<const size_t> columns) {
  std::vector<std::string> keys(batch.rows);
  for (const size_t column : columns) {
    std::string_view bytes = AsText(batch.columns[column].data);
    const Type type = batch.columns[column].type;
    for (std::string& key : keys) {
      const size_t width = type == Type::kSymbol ? bytes.find('\0') + 1 : WidthOf(type);
      key += bytes.substr(0, width);
      bytes.remove_prefix(width);
    }
  }
  return keys;
}

// The late rows that count, by key.
struct Correction {
  uint64_t late_row;
  bool replaces = false;
};
using Corrections = std::unordered_map<std::string, Correction>;

// An old row that is not among the merged ones.
struct ReplacedRow {
  uint64_t row;
  const Correction* by;
  bool takes_place;  // True for the first row that the correction replaces.
};

absl::StatusOr<Corrections> FindCorrections(RowReader& late, std::span<const size_t> columns) {
  Corrections corrections;
  TS_RETURN_IF_ERROR(EachBatch(late, [&](const BatchView& batch, uint64_t first) {
    uint64_t row = first;
    for (std::string& key : KeysOf(batch, columns)) {
      corrections.insert_or_assign(std::move(key), Correction{row++});
    }
    return absl::OkStatus();
  }));
  return corrections;
}

absl::StatusOr<std::vector<ReplacedRow>> FindReplaced(RowReader& old,
                                                      std::span<const size_t> columns,
                                                      Corrections& corrections) {
  std::vector<ReplacedRow> replaced;
  TS_RETURN_IF_ERROR(EachBatch(old, [&](const BatchView& batch, uint64_t first) {
    uint64_t row = first;
    for (const std::string& key : KeysOf(batch, columns)) {
      const auto at = corrections.find(key);
      if (at != corrections.end()) {
        replaced.push_back({row, &at->second, !std::exchange(at->second.replaces, true)});
      }
      ++row;
    }
    return absl::OkStatus();
  }));
  return replaced;
}

absl::Status AppendRows(RowReader& from, uint64_t begin_row, uint64_t end_row, Table& to) {
  while (begin_row < end_row) {
    const uint64_t end = std::min(end_row, begin_row + kBatchRows);
    TS_ASSIGN_OR_RETURN(const BatchView batch, from.Read(begin_row, end));
    TS_RETURN_IF_ERROR(to.Append(batch));
    begin_row = end;
  }
  return absl::OkStatus();
}

// Appends the late rows of these numbers, which ascend.
absl::Status AppendSome(RowReader& late, std::span<const uint64_t> rows, Table& to) {
  for (size_t i = 0; i < rows.size();) {
    size_t end = i + 1;
    while (end < rows.size() && rows[end] == rows[end - 1] + 1) ++end;
    TS_RETURN_IF_ERROR(AppendRows(late, rows[i], rows[end - 1] + 1, to));
    i = end;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SelectColumns(const Schema& schema, RowReader& late) {
  std::vector<size_t> columns;
  for (const ColumnSpec& column : schema.columns) {
    const int at = late.schema().Find(column.name);
    if (at < 0) {
      return InvalidArgument("table {}: the rows lack column {} of the partition", schema.table,
                             column.name);
    }
    const Type found = late.schema().columns[static_cast<size_t>(at)].type;
    if (found != column.type) {
      return InvalidArgument("table {}: column {} of the rows has type {}, expected {}",
                             schema.table, column.name, NameOf(found), NameOf(column.type));
    }
    columns.push_back(static_cast<size_t>(at));
  }
  for (const ColumnSpec& column : late.schema().columns) {
    if (schema.Find(column.name) >= 0 || column.name == "date") continue;
    return InvalidArgument("table {}: the rows have a column {}, which the partition lacks",
                           schema.table, column.name);
  }
  late.Select(std::move(columns));
  return absl::OkStatus();
}

absl::StatusOr<RowMergeCounts> MergeRows(RowReader& old, RowReader& late,
                                         std::span<const std::string> keys, Table& merged) {
  RowMergeCounts counts{old.rows(), late.rows(), 0, old.rows() + late.rows()};
  if (keys.empty()) {
    TS_RETURN_IF_ERROR(AppendRows(old, 0, old.rows(), merged));
    TS_RETURN_IF_ERROR(AppendRows(late, 0, late.rows(), merged));
    return counts;
  }
  TS_ASSIGN_OR_RETURN(const std::vector<size_t> columns, KeyColumns(old.schema(), keys));
  TS_ASSIGN_OR_RETURN(Corrections corrections, FindCorrections(late, columns));
  TS_ASSIGN_OR_RETURN(const std::vector<ReplacedRow> replaced,
                      FindReplaced(old, columns, corrections));
  uint64_t next_row = 0;
  for (const ReplacedRow& each : replaced) {
    TS_RETURN_IF_ERROR(AppendRows(old, next_row, each.row, merged));
    next_row = each.row + 1;
    if (!each.takes_place) continue;
    TS_RETURN_IF_ERROR(AppendRows(late, each.by->late_row, each.by->late_row + 1, merged));
  }
  TS_RETURN_IF_ERROR(AppendRows(old, next_row, old.rows(), merged));
  std::vector<uint64_t> added;
  for (const auto& [key, correction] : corrections) {
    if (!correction.replaces) added.push_back(correction.late_row);
  }
  std::ranges::sort(added);
  TS_RETURN_IF_ERROR(AppendSome(late, added, merged));
  counts.added = added.size();
  counts.replaced = replaced.size();
  counts.after = merged.rows();
  return counts;
}

}  // namespace tickstack::disk
