#include "cli/bars_config.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "query/language/schema_names.h"

namespace tickstack::cli {

using aggengine::BarSpec;

namespace {

// Reads the bars of a table: name, source, width; each other key is an aggregate. Without any, they
// have the aggregates of the default bars.
absl::StatusOr<BarSpec> ReadBar(const ConfigTable& table) {
  BarSpec spec;
  TS_RETURN_IF_ERROR(table.Read("name", &spec.name));
  TS_RETURN_IF_ERROR(table.Read("table", &spec.table));
  TS_RETURN_IF_ERROR(table.ReadDuration("width", &spec.width_ns));
  for (const std::string_view key : {"name", "table", "width"}) {
    if (!table.Has(key)) return table.ErrorAt(key, "expected it beside the other two, found none");
  }
  if (spec.width_ns < aggengine::kWidthMinNs || spec.width_ns > aggengine::kWidthMaxNs) {
    return table.ErrorAt("width", fmt::format("expected 1ms to 1d, found {} ns", spec.width_ns));
  }
  for (const std::string& key : table.Keys()) {
    if (key == "name" || key == "table" || key == "width") continue;
    if (!IsSchemaName(key)) {
      return table.ErrorAt(key, fmt::format("expected a column's name of letters, digits and _, a "
                                            "letter first, found \"{}\"",
                                            key));
    }
    std::string text;
    TS_RETURN_IF_ERROR(table.Read(key, &text));
    absl::StatusOr<aggengine::Aggregate> aggregate = aggengine::ParseAggregate(key, text);
    if (!aggregate.ok()) return table.ErrorAt(key, Message(aggregate.status()));
    spec.aggregates.push_back(*std::move(aggregate));
  }
  if (spec.aggregates.empty()) spec.aggregates = aggengine::DefaultAggregates(spec.table);
  if (spec.aggregates.empty()) {
    return table.ErrorAt("table", fmt::format("expected trade or quote, or columns such as `n = "
                                              "\"count\"`, found \"{}\" and no columns",
                                              spec.table));
  }
  return spec;
}

// Adds the table as which the bars are published, unless [tables] has it.
absl::Status AddBarTable(const ConfigTable& at, const BarSpec& spec,
                         std::span<const Schema> sources, std::vector<Schema>& schemas) {
  const auto find = [](std::span<const Schema> in, std::string_view table) {
    const auto found = std::find_if(in.begin(), in.end(),
                                    [&](const Schema& schema) { return schema.table == table; });
    return found == in.end() ? nullptr : &*found;
  };
  const Schema* const source = find(sources, spec.table);
  if (source == nullptr) {
    std::string known;
    for (const Schema& each : sources) known += (known.empty() ? "" : ", ") + each.table;
    return at.ErrorAt(
        "table", fmt::format("expected one of the tables {}, found \"{}\"", known, spec.table));
  }
  absl::StatusOr<Schema> schema = aggengine::SchemaOf(spec, *source);
  if (!schema.ok()) return at.ErrorAt("table", Message(schema.status()));
  const Schema* const known = find(schemas, spec.name);
  if (known == nullptr) {
    // The name is checked like those in [tables].
    absl::StatusOr<Schema> checked = ParseSchema(spec.name, FormatSchema(*schema));
    if (!checked.ok()) return at.ErrorAt("name", Message(checked.status()));
    if (const absl::Status named = query::CheckSchemaNames(*checked); !named.ok()) {
      return at.ErrorAt("name", Message(named));
    }
    schemas.push_back(*std::move(checked));
    return absl::OkStatus();
  }
  if (*known == *schema) return absl::OkStatus();
  return at.ErrorAt("name", fmt::format("table {} is there already: expected \"{}\", found \"{}\"",
                                        spec.name, FormatSchema(*schema), FormatSchema(*known)));
}

}  // namespace

absl::StatusOr<std::vector<BarSpec>> ReadBars(const ConfigTable& table,
                                              std::vector<Schema>& schemas,
                                              std::vector<std::string>& warnings) {
  std::vector<BarSpec> all;
  bool default_bars = true;
  TS_RETURN_IF_ERROR(table.Read("default_bars", &default_bars));
  const std::vector<Schema> sources = schemas;
  std::vector<std::string> left_out;
  if (default_bars) all = aggengine::DefaultBars(sources, &left_out);
  for (const std::string& why : left_out)
    warnings.emplace_back(Message(table.ErrorAt("default_bars", why)));
  for (const BarSpec& spec : all) {
    TS_RETURN_IF_ERROR(AddBarTable(table, spec, sources, schemas));
  }
  TS_ASSIGN_OR_RETURN(const std::vector<ConfigTable> bars, table.Tables("bars"));
  for (const ConfigTable& bar : bars) {
    TS_ASSIGN_OR_RETURN(BarSpec spec, ReadBar(bar));
    const bool twice = std::any_of(all.begin(), all.end(),
                                   [&](const BarSpec& other) { return other.name == spec.name; });
    if (twice) {
      return bar.ErrorAt(
          "name", fmt::format("expected a name that no other bars have, found \"{}\"", spec.name));
    }
    TS_RETURN_IF_ERROR(AddBarTable(bar, spec, sources, schemas));
    all.push_back(std::move(spec));
  }
  if (!all.empty()) return all;
  return table.ErrorAt("bars",
                       "expected [[aggengine.bars]], or a table trade or quote with the "
                       "columns of the default bars; found neither");
}

std::vector<std::string> DailyBars(std::span<const BarSpec> bars) {
  std::vector<std::string> names;
  for (const BarSpec& spec : bars) {
    if (spec.width_ns == aggengine::kWidthMaxNs) names.push_back(spec.name);
  }
  return names;
}

}  // namespace tickstack::cli
