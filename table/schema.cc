#include "table/schema.h"

#include "base/check.h"
#include "base/status.h"

namespace tickstack {
namespace {

constexpr std::string_view kBlank = " \t\r\n";

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

absl::Status ParseColumns(std::string_view text, Schema& schema) {
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view column = Trim(text.substr(0, comma));
    const size_t blank = column.find_first_of(kBlank);
    const std::string_view name = column.substr(0, blank);
    const std::string_view letter =
        blank == std::string_view::npos ? std::string_view() : Trim(column.substr(blank));
    if (!IsSchemaName(name)) {
      return InvalidArgument(
          "table {}: column '{}': expected a name and a type letter, such as `price f`",
          schema.table, column);
    }
    if (schema.Find(name) >= 0)
      return InvalidArgument("table {}: column {} is there twice", schema.table, name);
    std::optional<Type> type;
    if (letter == "*" || letter == "C") {
      type = Type::kList;
    } else if (letter.size() == 1) {
      type = TypeOfLetter(letter[0]);
    }
    if (!type) {
      return InvalidArgument(
          "table {}: column {}: type '{}', expected one of b g x h i j e f c s p m d z n u v t *",
          schema.table, name, letter);
    }
    schema.columns.push_back({std::string(name), *type});
    if (comma == std::string_view::npos) return absl::OkStatus();
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

bool IsSchemaName(std::string_view text) {
  // A database has a file or folder of this name, to which some file systems give 255 bytes.
  constexpr size_t kNameMax = 200;
  if (text.size() > kNameMax) return false;
  if (text.empty() || (text[0] >= '0' && text[0] <= '9') || text[0] == '_') return false;
  for (const char c : text) {
    const bool word =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!word) return false;
  }
  return true;
}

int Schema::Find(std::string_view column) const {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == column) return static_cast<int>(i);
  }
  return -1;
}

absl::StatusOr<Schema> ParseSchema(std::string_view table, std::string_view columns) {
  Schema schema{std::string(table), {}, 0};
  if (!IsSchemaName(table))
    return InvalidArgument(
        "table '{}': expected a name of at most 200 letters, digits and _, which begins with a "
        "letter",
        table);
  const size_t bar = columns.find('|');
  if (bar != std::string_view::npos) {
    TS_RETURN_IF_ERROR(ParseColumns(columns.substr(0, bar), schema));
    schema.key_columns = schema.columns.size();
    columns.remove_prefix(bar + 1);
  }
  TS_RETURN_IF_ERROR(ParseColumns(columns, schema));
  return schema;
}

std::string FormatSchema(const Schema& schema) {
  std::string text;
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    if (i > 0) text += i == schema.key_columns ? " | " : ", ";
    const Type type = schema.columns[i].type;
    text += schema.columns[i].name;
    text += ' ';
    text += type == Type::kList ? '*' : LetterOf(type);
  }
  return text;
}

std::vector<Schema> DefaultSchemas() {
  std::vector<Schema> schemas;
  for (const auto& [table, columns] : {
           std::pair("trade", "time p, sym s, price f, size i, stop b, cond c, ex c"),
           std::pair("quote", "time p, sym s, bid f, ask f, bsize j, asize j, mode c, ex c"),
       }) {
    absl::StatusOr<Schema> schema = ParseSchema(table, columns);
    TS_CHECK(schema.ok());
    schemas.push_back(*std::move(schema));
  }
  return schemas;
}

absl::Status CheckBatch(const Schema& schema, const BatchView& batch) {
  if (batch.columns.size() != schema.columns.size()) {
    return InvalidArgument("length: {} columns, table {} has {}", batch.columns.size(),
                           schema.table, schema.columns.size());
  }
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const ColumnSpec& spec = schema.columns[i];
    const ColumnView& column = batch.columns[i];
    if (column.type != spec.type && spec.type != Type::kList) {
      return InvalidArgument("type: {}.{} is {}, expected {}", schema.table, spec.name,
                             NameOf(column.type), NameOf(spec.type));
    }
    if (column.rows != batch.rows) {
      return InvalidArgument("length: {}.{} has {} rows, {} has {}", schema.table, spec.name,
                             column.rows, schema.columns.front().name, batch.rows);
    }
  }
  return absl::OkStatus();
}

}  // namespace tickstack
