#include "disk/parquet.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/status.h"
#include "disk/parquet_column.h"
#include "disk/thrift_compact.h"

namespace tickstack::disk {
namespace {

constexpr std::string_view kMagic = "PAR1";
constexpr size_t kRowsPerGroup = 1 << 17;

struct RowGroup {
  size_t rows = 0;
  std::vector<parquet::Chunk> chunks;  // One per column.
};

void WriteChunk(const parquet::ColumnWriter& column, const parquet::Chunk& chunk,
                ThriftWriter& out) {
  out.I64(2, chunk.begin);
  out.Struct(3);
  out.I32(1, static_cast<int32_t>(column.physical()));
  out.I32List(2, chunk.has_dictionary ? 3 : 2);
  out.I32Item(static_cast<int32_t>(parquet::Encoding::kPlain));
  out.I32Item(static_cast<int32_t>(parquet::Encoding::kRle));
  if (chunk.has_dictionary) out.I32Item(static_cast<int32_t>(parquet::Encoding::kDictionary));
  out.TextList(3, 1);
  out.TextItem(column.name());
  out.I32(4, static_cast<int32_t>(parquet::Codec::kZstd));
  out.I64(5, chunk.rows);
  out.I64(6, chunk.bytes);
  out.I64(7, chunk.bytes_in_file);
  out.I64(9, chunk.data_page);
  if (chunk.has_dictionary) out.I64(11, chunk.begin);
  out.Struct(12);
  out.I64(3, chunk.nulls);
  out.End();
  out.End();
}

std::string Footer(const std::vector<parquet::ColumnWriter>& columns, size_t rows,
                   const std::vector<RowGroup>& groups) {
  std::string text;
  ThriftWriter out(text);
  out.I32(1, 2);
  out.StructList(2, columns.size() + 1);
  out.StructItem();
  out.Text(4, "table");
  out.I32(5, static_cast<int32_t>(columns.size()));
  out.End();
  for (const parquet::ColumnWriter& column : columns) {
    out.StructItem();
    column.WriteSchema(out);
    out.End();
  }
  out.I64(3, static_cast<int64_t>(rows));
  out.StructList(4, groups.size());
  for (const RowGroup& group : groups) {
    int64_t bytes = 0;
    out.StructItem();
    out.StructList(1, columns.size());
    for (size_t i = 0; i < columns.size(); ++i) {
      out.StructItem();
      WriteChunk(columns[i], group.chunks[i], out);
      out.End();
      bytes += group.chunks[i].bytes;
    }
    out.I64(2, bytes);
    out.I64(3, static_cast<int64_t>(group.rows));
    out.End();
  }
  out.Text(6, "tickstack");
  out.End();
  return text;
}

}  // namespace

absl::StatusOr<std::string> FormatParquet(const Value& table) {
  std::vector<const Value*> parts;
  if (table.is_table()) parts = {&table};
  if (table.is_keyed_table()) parts = {&table.keys(), &table.values()};
  if (parts.empty())
    return InvalidArgument("expected a table for a Parquet file, found another answer");
  const size_t rows = parts.front()->count();
  std::vector<parquet::ColumnWriter> columns;
  for (const Value* part : parts) {
    for (size_t i = 0; i < part->columns().size(); ++i) {
      const Value& values = part->columns()[i];
      const std::string_view name = part->column_names()[i];
      if ((!values.is_vector() && !values.is_list()) || values.count() != rows) {
        return InvalidArgument("column {} is not {} items long", name, rows);
      }
      TS_ASSIGN_OR_RETURN(parquet::ColumnWriter column, parquet::ColumnWriter::For(name, values));
      columns.push_back(std::move(column));
    }
  }
  std::string file(kMagic);
  std::vector<RowGroup> groups;
  for (size_t begin = 0; begin < rows; begin += kRowsPerGroup) {
    RowGroup group;
    group.rows = std::min(kRowsPerGroup, rows - begin);
    for (const parquet::ColumnWriter& column : columns) {
      group.chunks.push_back(column.WriteRows(begin, begin + group.rows, file));
    }
    groups.push_back(std::move(group));
  }
  const std::string footer = Footer(columns, rows, groups);
  file += footer;
  const auto bytes = static_cast<uint32_t>(footer.size());
  file.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  file += kMagic;
  return file;
}

}  // namespace tickstack::disk
