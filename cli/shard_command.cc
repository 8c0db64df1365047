#include "cli/shard_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include "base/file.h"
#include "base/status.h"
#include "base/time.h"
#include "cli/exit_codes.h"
#include "cli/shard_plan.h"
#include "cli/stack_config.h"
#include "cli/tls_config.h"
#include "table/value.h"
#include "tplog/tplog_reader.h"
#include "wire/address.h"
#include "wire/client.h"
#include "wire/upd.h"

namespace tickstack::cli {
namespace {

constexpr std::chrono::minutes kCountTimeout{10};

int Failed(std::string_view command, const absl::Status& why, int code) {
  fmt::print(stderr, "tickstack shard {}: {}\n", command, Message(why));
  return code;
}

absl::StatusOr<StackConfig> ShardedConfig(const std::string& path) {
  TS_ASSIGN_OR_RETURN(StackConfig config, LoadStackConfig(path));
  if (config.shard_map != nullptr) return config;
  return InvalidArgument("{}: expected sections [[shard]], found none", path);
}

// The tables that feeds publish. Bars follow from them.
std::vector<Schema> CountedTables(const StackConfig& config) {
  std::vector<Schema> tables;
  for (const Schema& schema : config.schemas) {
    const bool is_bars = std::ranges::find(config.bars, schema.table, &aggengine::BarSpec::name) !=
                         config.bars.end();
    if (!is_bars && ShardColumnOf(schema) >= 0) tables.push_back(schema);
  }
  return tables;
}

absl::Status CountLog(const std::string& path, const std::vector<Schema>& tables,
                      RowsOfSymbols& rows) {
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<tplog::TplogReader> log,
                      tplog::TplogReader::Open(path));
  wire::UpdDecoder decoder;
  while (true) {
    TS_ASSIGN_OR_RETURN(const auto message, log->Next());
    if (!message) return absl::OkStatus();
    const std::optional<std::string_view> table = wire::PeekUpdTable(message->body);
    const auto schema = std::ranges::find(tables, table.value_or(""), &Schema::table);
    if (schema == tables.end()) continue;
    wire::UpdView upd;
    decoder.NameColumns(&*schema);
    TS_RETURN_IF_ERROR(decoder.Decode(message->body, &upd, schema->columns.size()));
    TS_RETURN_IF_ERROR(CheckBatch(*schema, upd.batch));
    const ColumnView& column = upd.batch.columns[static_cast<size_t>(ShardColumnOf(*schema))];
    const char* name = reinterpret_cast<const char*>(column.data.data());
    for (size_t row = 0; row < column.rows; ++row) {
      const std::string_view symbol(name);
      ++rows[symbol];
      name += symbol.size() + 1;
    }
  }
}

absl::Status CountAt(const std::string& where, const std::optional<std::string>& date,
                     const std::vector<Schema>& tables, RowsOfSymbols& rows) {
  TS_ASSIGN_OR_RETURN(const wire::Address address, wire::ParseAddress(where));
  wire::ClientOptions client;
  client.is_link = true;
  for (const Schema& schema : tables) {
    const std::string& column = schema.columns[static_cast<size_t>(ShardColumnOf(schema))].name;
    const std::string query =
        fmt::format("0!select n:count i by {} from {}{}", column, schema.table,
                    date ? fmt::format(" where date={}", *date) : "");
    TS_ASSIGN_OR_RETURN(const Value counts,
                        wire::Ask(address, Value::String(query), kCountTimeout, client));
    const bool is_right = counts.type() == Type::kTable && counts.columns().size() == 2 &&
                          counts.columns()[0].is(Type::kSymbol) &&
                          counts.columns()[1].is(Type::kLong);
    if (!is_right) return InvalidArgument("{}: {}: expected symbols and longs", where, query);
    const SymbolVector& symbols = counts.columns()[0].symbols();
    const std::span<const int64_t> numbers = counts.columns()[1].span<int64_t>();
    for (size_t i = 0; i < numbers.size(); ++i) rows[symbols[i]] += numbers[i];
  }
  return absl::OkStatus();
}

}  // namespace

int RunShardOf(const ShardOfOptions& options) {
  const absl::StatusOr<StackConfig> config = ShardedConfig(options.config);
  if (!config.ok()) return Failed("of", config.status(), kExitWrongUsage);
  const ShardMap& map = *config->shard_map;
  for (const std::string& symbol : options.symbols) {
    fmt::print("{} {}\n", symbol, map.shards()[map.ShardOf(symbol)]);
  }
  return 0;
}

int RunShardPlan(const ShardPlanOptions& options) {
  absl::StatusOr<StackConfig> config = ShardedConfig(options.config);
  if (!config.ok()) return Failed("plan", config.status(), kExitWrongUsage);
  if (options.date && !ParseDate(*options.date)) {
    return Failed(
        "plan",
        InvalidArgument("--date: expected a date such as 2013.10.07, found \"{}\"", *options.date),
        kExitWrongUsage);
  }
  if (const absl::Status tls = UseTls(*config); !tls.ok()) {
    return Failed("plan", tls, kExitWrongUsage);
  }
  const std::vector<Schema> tables = CountedTables(*config);
  RowsOfSymbols rows;
  for (const std::string& source : options.sources) {
    const bool is_log = FileExists(source).value_or(false);
    const absl::Status counted =
        is_log ? CountLog(source, tables, rows) : CountAt(source, options.date, tables, rows);
    if (!counted.ok()) return Failed("plan", counted, kExitFailed);
  }
  fmt::print("{}", PlanText(*config->shard_map, PlanShards(*config->shard_map, rows)));
  return 0;
}

}  // namespace tickstack::cli
