#include "cli/import_mapping.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/config.h"
#include "base/status.h"
#include "query/language/schema_names.h"

namespace tickstack::cli {
namespace {

constexpr std::string_view kImportTypes = "bhijefcspdnuvtC";

absl::Status ReadUnit(const ConfigTable& table, MappedColumn& column) {
  std::string unit;
  TS_RETURN_IF_ERROR(table.Read("unit", &unit));
  if (unit.empty()) return absl::OkStatus();
  if (column.spec.type != Type::kTimestamp) {
    return table.ErrorAt("unit", "only timestamps have a unit");
  }
  if (!column.format.empty()) return table.ErrorAt("unit", "a column has a format or a unit");
  const std::optional<int64_t> ns = ParseDuration("1" + unit);
  if (!ns.has_value() || *ns > 1'000'000'000) {
    return table.ErrorAt("unit", "expected \"s\", \"ms\", \"us\" or \"ns\"");
  }
  column.unit_ns = *ns;
  return absl::OkStatus();
}

absl::StatusOr<MappedColumn> ReadColumn(const ConfigTable& table) {
  MappedColumn column;
  std::string type;
  TS_RETURN_IF_ERROR(table.Read("name", &column.spec.name));
  TS_RETURN_IF_ERROR(table.Read("type", &type));
  TS_RETURN_IF_ERROR(table.Read("from", &column.from));
  TS_RETURN_IF_ERROR(table.Read("format", &column.format));
  if (!IsSchemaName(column.spec.name)) {
    return table.ErrorAt("name", "expected letters, digits and _, beginning with a letter");
  }
  if (type.size() != 1 || kImportTypes.find(type[0]) == std::string_view::npos) {
    return table.ErrorAt("type", fmt::format("expected one of the letters {}", kImportTypes));
  }
  column.spec.type = type == "C" ? Type::kList : *TypeOfLetter(type[0]);
  if (column.from.empty()) column.from = column.spec.name;
  const bool is_day = column.spec.type == Type::kTimestamp || column.spec.type == Type::kDate;
  if (!column.format.empty() && !is_day) {
    return table.ErrorAt("format", "only timestamps and dates have a format");
  }
  TS_RETURN_IF_ERROR(ReadUnit(table, column));
  return column;
}

absl::Status ReadColumns(const ConfigTable& root, ImportMapping& mapping) {
  TS_ASSIGN_OR_RETURN(const std::vector<ConfigTable> tables, root.Tables("column"));
  if (tables.empty()) return root.ErrorAt("column", "expected a [[column]] for each column");
  for (const ConfigTable& table : tables) {
    TS_ASSIGN_OR_RETURN(MappedColumn column, ReadColumn(table));
    if (mapping.schema().Find(column.spec.name) >= 0) {
      return table.ErrorAt("name", "a second column of that name");
    }
    if (column.spec.name == "date") {
      return table.ErrorAt("name", "a partition gives its rows the column date");
    }
    if (const absl::Status named = query::CheckColumnName(column.spec.name); !named.ok()) {
      return table.ErrorAt("name", Message(named));
    }
    mapping.columns.push_back(std::move(column));
  }
  return absl::OkStatus();
}

absl::Status ReadDay(const ConfigTable& root, ImportMapping& mapping) {
  TS_RETURN_IF_ERROR(root.Read("date", &mapping.date));
  TS_RETURN_IF_ERROR(root.Read("date_column", &mapping.date_column));
  TS_RETURN_IF_ERROR(root.Read("date_format", &mapping.date_format));
  if (!mapping.date.empty() && !mapping.date_column.empty()) {
    return root.ErrorAt("date_column", "expected date or date_column, found both");
  }
  if (!mapping.date_format.empty() && mapping.date_column.empty()) {
    return root.ErrorAt("date_format", "is that of date_column, which is missing");
  }
  const bool has_timestamps = std::ranges::any_of(mapping.columns, [](const MappedColumn& column) {
    return column.spec.type == Type::kTimestamp;
  });
  if (mapping.date.empty() && mapping.date_column.empty() && !has_timestamps) {
    return root.ErrorAt("date", "expected date, date_column or a column of timestamps");
  }
  return absl::OkStatus();
}

absl::StatusOr<ImportMapping> ReadMapping(const Config& config) {
  const ConfigTable& root = config.root();
  ImportMapping mapping;
  TS_RETURN_IF_ERROR(root.Read("table", &mapping.table));
  if (!IsSchemaName(mapping.table)) {
    return root.ErrorAt("table", "expected letters, digits and _, beginning with a letter");
  }
  if (const absl::Status named = query::CheckSchemaNames({mapping.table, {}, 0}); !named.ok()) {
    return root.ErrorAt("table", Message(named));
  }
  TS_RETURN_IF_ERROR(ReadColumns(root, mapping));
  TS_RETURN_IF_ERROR(ReadDay(root, mapping));
  std::string delimiter = ",";
  TS_RETURN_IF_ERROR(root.Read("delimiter", &delimiter));
  if (delimiter.size() != 1 || delimiter.find_first_of("\"\r\n") == 0) {
    return root.ErrorAt("delimiter", "expected one byte, neither a quote nor a line break");
  }
  mapping.delimiter = delimiter[0];
  TS_RETURN_IF_ERROR(root.Read("header", &mapping.header));
  TS_RETURN_IF_ERROR(root.Read("null", &mapping.nulls));
  TS_RETURN_IF_ERROR(config.CheckUnusedKeys());
  return mapping;
}

}  // namespace

Schema ImportMapping::schema() const {
  Schema schema{.table = table, .columns = {}};
  for (const MappedColumn& column : columns) schema.columns.push_back(column.spec);
  return schema;
}

absl::StatusOr<ImportMapping> LoadImportMapping(const std::string& path) {
  TS_ASSIGN_OR_RETURN(const Config config, Config::Load(path));
  return ReadMapping(config);
}

absl::StatusOr<ImportMapping> ParseImportMapping(std::string_view text, std::string_view name) {
  TS_ASSIGN_OR_RETURN(const Config config, Config::Parse(text, name));
  return ReadMapping(config);
}

}  // namespace tickstack::cli
