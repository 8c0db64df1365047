#include "wire/upd_encoder.h"

#include "wire/protocol.h"

namespace tickstack::wire {

void UpdEncoder::Head(std::string_view verb, std::string_view table, bool has_seq) {
  VectorHead(Type::kList, has_seq ? 4 : 3);
  Symbol(verb);
  Symbol(table);
}

void UpdEncoder::NumberedHead(std::string_view feed, int64_t row, std::string_view table) {
  VectorHead(Type::kList, 5);
  Symbol(protocol::kNumberedUpd);
  Symbol(feed);
  Long(row);
  Symbol(table);
}

void UpdEncoder::Table(const Schema& schema) {
  out_.AppendLittle(static_cast<int8_t>(Type::kTable));
  out_.AppendLittle(uint8_t{0});
  out_.AppendLittle(static_cast<int8_t>(Type::kDict));
  VectorHead(Type::kSymbol, schema.columns.size());
  for (const ColumnSpec& column : schema.columns) Name(column.name);
  VectorHead(Type::kList, schema.columns.size());
}

void UpdEncoder::Batch(const BatchView& batch) {
  Columns(batch.columns.size());
  for (const ColumnView& column : batch.columns) {
    Column(column.type, batch.rows);
    out_.Append(column.data);
  }
}

void UpdEncoder::Name(std::string_view name) {
  out_.Append(name);
  out_.AppendLittle(uint8_t{0});
}

void UpdEncoder::Symbol(std::string_view name) {
  out_.AppendLittle(static_cast<int8_t>(-static_cast<int>(Type::kSymbol)));
  Name(name);
}

void UpdEncoder::Long(int64_t value) {
  out_.AppendLittle(static_cast<int8_t>(-static_cast<int>(Type::kLong)));
  out_.AppendLittle(value);
}

}  // namespace tickstack::wire
