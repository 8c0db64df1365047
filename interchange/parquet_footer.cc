#include "interchange/parquet_footer.h"

namespace tickstack::interchange::parquet {
namespace {

void WriteStatistics(const Chunk& chunk, ThriftWriter& out) {
  out.Struct(12);
  out.I64(3, chunk.nulls);
  if (chunk.has_extremes) {
    out.Text(5, chunk.max);
    out.Text(6, chunk.min);
  }
  out.End();
}

void WriteChunk(const ColumnSchema& column, const Chunk& chunk, ThriftWriter& out) {
  out.I64(2, chunk.begin);
  out.Struct(3);
  out.I32(1, static_cast<int32_t>(column.physical));
  out.I32List(2, chunk.has_dictionary ? 3 : 2);
  out.I32Item(static_cast<int32_t>(Encoding::kPlain));
  out.I32Item(static_cast<int32_t>(Encoding::kRle));
  if (chunk.has_dictionary) out.I32Item(static_cast<int32_t>(Encoding::kDictionary));
  out.TextList(3, 1);
  out.TextItem(column.name);
  out.I32(4, static_cast<int32_t>(chunk.codec));
  out.I64(5, chunk.rows);
  out.I64(6, chunk.bytes);
  out.I64(7, chunk.bytes_in_file);
  out.I64(9, chunk.data_page);
  if (chunk.has_dictionary) out.I64(11, chunk.begin);
  WriteStatistics(chunk, out);
  out.End();
}

void WriteSchema(std::span<const ColumnSchema> columns, ThriftWriter& out) {
  out.StructList(2, columns.size() + 1);
  out.StructItem();
  out.Text(4, "table");
  out.I32(5, static_cast<int32_t>(columns.size()));
  out.End();
  for (const ColumnSchema& column : columns) {
    out.StructItem();
    column.Write(out);
    out.End();
  }
}

void WriteGroup(std::span<const ColumnSchema> columns, const RowGroup& group, ThriftWriter& out) {
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

}  // namespace

std::string FileEnd(std::span<const ColumnSchema> columns, std::span<const RowGroup> groups,
                    std::span<const Remark> remarks) {
  std::string text;
  ThriftWriter out(text);
  out.I32(1, 2);
  WriteSchema(columns, out);
  size_t rows = 0;
  for (const RowGroup& group : groups) rows += group.rows;
  out.I64(3, static_cast<int64_t>(rows));
  out.StructList(4, groups.size());
  for (const RowGroup& group : groups) WriteGroup(columns, group, out);
  if (!remarks.empty()) {
    out.StructList(5, remarks.size());
    for (const Remark& remark : remarks) {
      out.StructItem();
      out.Text(1, remark.key);
      out.Text(2, remark.value);
      out.End();
    }
  }
  out.Text(6, "tickstack");
  // The order of each column's values is that of its type; without this, readers ignore extremes.
  out.StructList(7, columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    out.StructItem();
    out.Empty(1);
    out.End();
  }
  out.End();
  AppendBytes(text, static_cast<uint32_t>(text.size()));
  return text.append(kMagic);
}

}  // namespace tickstack::interchange::parquet
