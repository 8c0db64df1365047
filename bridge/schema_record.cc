#include "bridge/schema_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "interchange/avro_file.h"
#include "table/types.h"

namespace tickstack::bridge {
namespace {

char LetterIn(const ColumnSpec& column) {
  return column.type == Type::kList ? '*' : LetterOf(column.type);
}

}  // namespace

std::string SchemaHash(const Schema& schema) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&hash](char letter) {
    hash = (hash ^ static_cast<uint8_t>(letter)) * 0x100000001b3;
  };
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    if (i > 0) add(',');
    for (const char letter : schema.columns[i].name) add(letter);
    add(' ');
    add(LetterIn(schema.columns[i]));
  }
  return fmt::format("{:016x}", hash);
}

SchemaRecord SchemaRecordOf(std::string_view topic, const Schema& schema) {
  // No name needs escapes in JSON: see CheckBridgeOptions and IsSchemaName.
  const std::string subject = fmt::format("{}-value", topic), hash = SchemaHash(schema);
  std::string columns;
  for (const ColumnSpec& column : schema.columns) {
    columns += fmt::format(R"({}{{"name":"{}","type":"{}"}})", columns.empty() ? "" : ",",
                           column.name, LetterIn(column));
  }
  return {.key = fmt::format("{}/{}", subject, hash),
          .value = fmt::format(R"({{"subject":"{}","schema":"{}","table":"{}","key_columns":{},)"
                               R"("columns":[{}],"avro":{}}})",
                               subject, hash, schema.table, schema.key_columns, columns,
                               interchange::AvroSchema(schema))};
}

std::string_view SubjectOf(std::string_view key) {
  return key.substr(0, std::min(key.size(), key.rfind('/')));
}

}  // namespace tickstack::bridge
