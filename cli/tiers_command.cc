#include "cli/tiers_command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/human_text.h"
#include "base/status.h"
#include "cli/planned_rows.h"
#include "cli/stack_config.h"
#include "cli/table_bytes.h"
#include "cli/tier_probe.h"
#include "cli/tier_verdict.h"
#include "mem/numa.h"
#include "mem/tier.h"
#include "table/format_value.h"
#include "table/table.h"

namespace tickstack::cli {
namespace {

constexpr int kExitWrongTiers = 2;

// A tier as it would be opened.
struct TierReport {
  mem::TierOptions options;
  bool used = false;
  mem::TierStats found;              // Valid if status is OK.
  std::optional<size_t> free_bytes;  // Free bytes of the file system, for a file kind.
  absl::Status status;
  size_t bytes = 0;        // Bytes of the tables' rows.
  bool passes_on = false;  // Old rows, and what does not fit, go to another tier.

  TierVerdict verdict() const {
    TierVerdict verdict = JudgeTier(options, bytes);
    if (passes_on) verdict.fit = Fit::kPassesOn;
    return verdict;
  }
};

// A column, or the index of a table.
struct PartReport {
  std::string table;
  std::string column;
  std::string type;  // As in `[tables]`; empty for an index.
  std::string tier;
  std::string then;  // The tier that has its old rows; empty: they do not move.
  size_t bytes = 0;

  // Returns the tier that needs room for the bytes of a whole day. The tier of recent rows is
  // limited by its size, and passes the rest on.
  const std::string& TierOfDay() const { return then.empty() ? tier : then; }
};

struct RdbReport {
  std::string name;
  int numa_node = -1;
  absl::Status numa_status;
  bool knows_tables = false;
  std::string queries;
  std::vector<std::pair<std::string, size_t>> rows;  // By table.
  std::vector<TierReport> tiers;
  std::vector<PartReport> parts;
};

std::string KindText(const mem::TierOptions& options) {
  std::string kind(mem::NameOf(options.kind));
  if (options.kind != mem::TierKind::kSimulate) return kind;
  return fmt::format("{} {} (SIMULATED)", kind, options.model.name);
}

void Probe(const std::string& rdb, TierReport& report) {
  TierProbe probe = ProbeTier(rdb, report.options);
  report.free_bytes = probe.free_bytes;
  report.status = std::move(probe.status);
  report.found = probe.found;
}

// Returns the rows per chunk as the table of a running RDB has them.
size_t RowsPerChunk(const Schema& schema, const rdb::RdbMainOptions& rdb) {
  std::vector<ColumnTier> tiers;
  for (const ColumnSpec& column : schema.columns) {
    const auto tier = std::ranges::find(
        rdb.tiers, rdb.placement.TierOfColumn(schema.table, column.name),
        [](const rdb::TierConfig& config) { return std::string_view(config.options.name); });
    const bool declared = tier != rdb.tiers.end();
    tiers.push_back(
        {declared ? &*tier : nullptr, declared ? tier->options.capacity_bytes : SIZE_MAX});
  }
  return FittingRowsPerChunk(schema, tiers);
}

// Returns the bytes of a table with `rows` rows. Above a number of rows, which takes a second and a
// GiB, it measures that number and scales the result: a column then has many chunks.
absl::StatusOr<TableBytes> ScaledBytes(const Schema& schema, size_t rows, size_t rows_per_chunk) {
  constexpr size_t kMeasuredMax = 20'000'000;
  const size_t measured = std::min(rows, kMeasuredMax);
  TS_ASSIGN_OR_RETURN(TableBytes bytes, MeasureTableBytes(schema, measured, rows_per_chunk));
  if (measured == rows) return bytes;
  const double factor = static_cast<double>(rows) / static_cast<double>(measured);
  const auto scale = [factor](size_t& part) {
    part = static_cast<size_t>(static_cast<double>(part) * factor);
  };
  std::ranges::for_each(bytes.columns, scale);
  scale(bytes.index);
  return bytes;
}

// Returns the tier to which rows move from `tier`; empty if they stay.
std::string OlderTierOf(std::string_view tier, const rdb::RdbMainOptions& rdb) {
  const std::optional<rdb::AgeRule>& age = rdb.placement.age();
  const auto config = std::ranges::find(rdb.tiers, tier, [](const rdb::TierConfig& each) {
    return std::string_view(each.options.name);
  });
  const bool persistent =
      config != rdb.tiers.end() && config->options.kind == mem::TierKind::kPersistent;
  if (!age || age->tier == tier || persistent) return "";
  return age->tier;
}

absl::Status AddTable(const Schema& schema, const rdb::RdbMainOptions& rdb, size_t rows,
                      RdbReport& report) {
  const rdb::PlacementRules& placement = rdb.placement;
  TS_ASSIGN_OR_RETURN(const TableBytes bytes, ScaledBytes(schema, rows, RowsPerChunk(schema, rdb)));
  report.rows.emplace_back(schema.table, rows);
  // Rows of keyed tables and the values of nested columns stay where they are.
  const auto moves = [&schema](const ColumnSpec& column) {
    return schema.key_columns == 0 && column.type != Type::kList;
  };
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const ColumnSpec& column = schema.columns[i];
    const std::string type(1, column.type == Type::kList ? '*' : LetterOf(column.type));
    const std::string_view tier = placement.TierOfColumn(schema.table, column.name);
    report.parts.push_back({schema.table, column.name, type, std::string(tier),
                            moves(column) ? OlderTierOf(tier, rdb) : "", bytes.columns[i]});
  }
  if (HasIndex(schema)) {
    report.parts.push_back({schema.table, "index", "",
                            std::string(placement.TierOfIndex(schema.table)), "", bytes.index});
  }
  return absl::OkStatus();
}

// Counts what does not fit into tiers that pass rows on, such as large indexes, for the tier of
// older rows.
void PassExcessOn(const rdb::RdbMainOptions& rdb, RdbReport& report) {
  if (!rdb.placement.age()) return;
  size_t excess = 0;
  for (TierReport& tier : report.tiers) {
    if (!tier.passes_on || tier.bytes <= tier.options.capacity_bytes) continue;
    excess += tier.bytes - tier.options.capacity_bytes;
    tier.bytes = tier.options.capacity_bytes;
  }
  for (TierReport& tier : report.tiers) {
    if (tier.options.name == rdb.placement.age()->tier) tier.bytes += excess;
  }
}

absl::StatusOr<RdbReport> ReportOf(const StackConfig& config, const rdb::RdbMainOptions& rdb,
                                   const PlannedRows& rows) {
  RdbReport report;
  report.name = rdb.name;
  report.numa_node = rdb.numa_node;
  if (rdb.numa_node >= 0) {
    report.numa_status = Annotate(mem::CheckNodes({rdb.numa_node}), "numa_node");
  }
  report.knows_tables = KnowsTables(config, rdb);
  report.queries = rdb.placement.TierOfQueries();
  for (const Schema& schema : config.schemas) {
    TS_RETURN_IF_ERROR(AddTable(schema, rdb, rows.Of(schema.table), report));
  }
  for (const rdb::TierConfig& tier : rdb.tiers) {
    TierReport& added = report.tiers.emplace_back();
    added.options = tier.options;
    added.used = rdb.placement.Uses(tier.options.name);
    if (added.used) Probe(rdb.name, added);
    added.passes_on =
        rdb.placement.HoldsRows(tier.options.name) && !OlderTierOf(tier.options.name, rdb).empty();
    for (const PartReport& part : report.parts) {
      if (part.TierOfDay() == tier.options.name) added.bytes += part.bytes;
    }
  }
  PassExcessOn(rdb, report);
  return report;
}

// --- For programs --------------------------------------------------------------------------------

using Json = nlohmann::ordered_json;

Json JsonOf(const TierReport& tier) {
  const bool bounded = tier.options.capacity_bytes != SIZE_MAX;
  const bool found = tier.used && tier.status.ok();
  const bool simulated = tier.options.kind == mem::TierKind::kSimulate;
  Json json = {{"tier", tier.options.name},
               {"kind", mem::NameOf(tier.options.kind)},
               {"used", tier.used},
               {"simulated", simulated ? Json(tier.options.model.name) : Json()},
               {"path", tier.options.path},
               {"size_bytes", bounded ? Json(tier.options.capacity_bytes) : Json()},
               {"free_bytes", tier.free_bytes ? Json(*tier.free_bytes) : Json()},
               {"filesystem", found ? Json(tier.found.filesystem) : Json()},
               {"dax", found ? Json(tier.found.dax) : Json()},
               {"nodes", tier.options.nodes},
               {"streaming", found ? Json(tier.found.streaming) : Json()},
               {"bytes", tier.bytes},
               {"overflow_bytes", tier.options.overflow_bytes},
               {"needed_bytes", tier.verdict().needed_bytes},
               {"verdict", tier.used ? Json(NameOf(tier.verdict().fit)) : Json()}};
  if (!tier.status.ok()) json["error"] = Message(tier.status);
  return json;
}

Json JsonOf(const RdbReport& rdb) {
  Json json = {{"rdb", rdb.name},
               {"numa_node", rdb.numa_node < 0 ? Json() : Json(rdb.numa_node)},
               {"tables_of", rdb.knows_tables ? "configuration" : "others"},
               {"query", rdb.queries},
               {"rows", Json::object()},
               {"tiers", Json::array()},
               {"columns", Json::array()}};
  if (!rdb.numa_status.ok()) json["error"] = Message(rdb.numa_status);
  for (const auto& [table, rows] : rdb.rows) json["rows"][table] = rows;
  for (const TierReport& tier : rdb.tiers) json["tiers"].push_back(JsonOf(tier));
  for (const PartReport& part : rdb.parts) {
    json["columns"].push_back({{"table", part.table},
                               {"column", part.column},
                               {"type", part.type},
                               {"tier", part.tier},
                               {"then", part.then.empty() ? Json() : Json(part.then)},
                               {"bytes", part.bytes}});
  }
  return json;
}

// --- For people ----------------------------------------------------------------------------------

// Formats a table as q shows one. Texts become symbols, which q shows without quotes.
std::string TextTable(std::vector<std::pair<std::string, std::vector<std::string>>> columns) {
  SymbolVector names;
  std::vector<Value> values;
  for (const auto& [name, cells] : columns) {
    names.push_back(name);
    SymbolVector symbols;
    for (const std::string& cell : cells) symbols.push_back(cell);
    values.push_back(Value::Symbols(std::move(symbols)));
  }
  return FormatText(Value::Table(std::move(names), std::move(values)));
}

template <typename Report, typename CellOf>
std::vector<std::string> Cells(const std::vector<Report>& reports, CellOf cell_of) {
  std::vector<std::string> cells;
  for (const Report& report : reports) cells.push_back(cell_of(report));
  return cells;
}

std::string TiersText(const std::vector<TierReport>& tiers) {
  using Of = const TierReport&;
  const auto found = [](Of t) { return t.used && t.status.ok(); };
  return TextTable(
      {{"tier", Cells(tiers, [](Of t) { return t.options.name; })},
       {"kind", Cells(tiers, [](Of t) { return KindText(t.options); })},
       {"size", Cells(tiers,
                      [](Of t) {
                        const bool bounded = t.options.capacity_bytes != SIZE_MAX;
                        return bounded ? BytesText(t.options.capacity_bytes) : "the machine's";
                      })},
       {"takes", Cells(tiers, [](Of t) { return t.used ? BytesText(t.bytes) : "not used"; })},
       {"path", Cells(tiers, [](Of t) { return t.options.path; })},
       {"free", Cells(tiers, [](Of t) { return t.free_bytes ? BytesText(*t.free_bytes) : ""; })},
       {"filesystem", Cells(tiers, [&](Of t) { return found(t) ? t.found.filesystem : ""; })},
       {"dax", Cells(tiers,
                     [&](Of t) {
                       if (!found(t) || !IsInFiles(t.options)) return "";
                       return t.found.dax ? "yes" : "no";
                     })},
       {"nodes", Cells(tiers, [&](Of t) { return found(t) ? t.found.nodes : ""; })}});
}

// Returns `1000000 rows of each table`, or `650000000 rows of quote, 85000000 rows of trade`.
std::string RowsText(const RdbReport& rdb) {
  std::string text;
  bool alike = true;
  for (const auto& [table, rows] : rdb.rows) {
    text += fmt::format("{}{} rows of {}", text.empty() ? "" : ", ", rows, table);
    alike = alike && rows == rdb.rows.front().second;
  }
  return alike && !rdb.rows.empty() ? fmt::format("{} rows of each table", rdb.rows.front().second)
                                    : text;
}

std::string TextOf(const RdbReport& rdb) {
  std::string text = fmt::format("rdb {}, {}", rdb.name, RowsText(rdb));
  if (!rdb.knows_tables) text += " (it gets its tables from elsewhere: these are the file's)";
  if (rdb.numa_node >= 0) text += fmt::format(", on NUMA node {}", rdb.numa_node);
  text += fmt::format("\n\n{}\n", TiersText(rdb.tiers));
  using Of = const PartReport&;
  std::vector<std::pair<std::string, std::vector<std::string>>> columns = {
      {"table", Cells(rdb.parts, [](Of p) { return p.table; })},
      {"column", Cells(rdb.parts, [](Of p) { return p.column; })},
      {"type", Cells(rdb.parts, [](Of p) { return p.type; })},
      {"tier", Cells(rdb.parts, [](Of p) { return p.tier; })}};
  if (std::ranges::any_of(rdb.parts, [](Of p) { return !p.then.empty(); })) {
    columns.emplace_back("then", Cells(rdb.parts, [](Of p) { return p.then; }));
  }
  columns.emplace_back("takes", Cells(rdb.parts, [](Of p) { return BytesText(p.bytes); }));
  text += TextTable(std::move(columns));
  text += fmt::format("\nIntermediate results of queries are in tier {}.\n", rdb.queries);
  for (const TierReport& tier : rdb.tiers) {
    if (tier.bytes > 0) text += fmt::format("Verdict: {}.\n", TextOf(tier.verdict(), tier.options));
  }
  return text;
}

bool Print(const std::string& text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written) std::perror("stdout");
  return written;
}

// Returns an error for each reason why an rdb with these rows would not do. `must_fit`: that they
// do not fit is such a reason, since somebody asked.
std::vector<absl::Status> ProblemsOf(const RdbReport& report, bool must_fit) {
  std::vector<absl::Status> problems = {report.numa_status};
  for (const TierReport& tier : report.tiers) {
    problems.push_back(tier.status);
    const TierVerdict verdict = tier.verdict();
    if (verdict.fit != Fit::kTooSmall || !must_fit) continue;
    problems.push_back(ResourceExhausted("{}", TextOf(verdict, tier.options)));
  }
  return problems;
}

// Checks the rows that have no other limit against the machine's memory.
absl::Status CheckMachine(const std::vector<RdbReport>& reports) {
  size_t bytes = 0;
  for (const RdbReport& report : reports) {
    for (const TierReport& tier : report.tiers) {
      const bool in_dram = tier.options.kind == mem::TierKind::kDram;
      if (in_dram && tier.verdict().fit == Fit::kUnlimited) bytes += tier.bytes;
    }
  }
  const size_t machine =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (bytes <= machine) return absl::OkStatus();
  return ResourceExhausted("all rdbs: rows in DRAM need {}, and the machine has {}",
                           BytesText(bytes), BytesText(machine));
}

int TiersFailed(const absl::Status& status, int exit_code) {
  std::fprintf(stderr, "%s\n", std::string(Message(status)).c_str());
  return exit_code;
}

// Prints the reports and, to stderr, what is wrong. Returns the exit code.
int PrintReports(const TiersOptions& options, const PlannedRows& rows,
                 const std::vector<RdbReport>& reports) {
  Json json = {{"rows", rows.of_others}, {"rdbs", Json::array()}};
  std::string text;
  int exit_code = EXIT_SUCCESS;
  const bool must_fit = !options.rows.empty();
  for (const RdbReport& report : reports) {
    json["rdbs"].push_back(JsonOf(report));
    text += (text.empty() ? "" : "\n") + TextOf(report);
    for (const absl::Status& problem : ProblemsOf(report, must_fit)) {
      if (problem.ok()) continue;
      exit_code = TiersFailed(Annotate(problem, fmt::format("rdb {}", report.name)), EXIT_FAILURE);
    }
  }
  if (const absl::Status machine = CheckMachine(reports); must_fit && !machine.ok()) {
    exit_code = TiersFailed(machine, EXIT_FAILURE);
  }
  return Print(options.json ? json.dump(2) + "\n" : text) ? exit_code : EXIT_FAILURE;
}

}  // namespace

int RunTiers(const TiersOptions& options) {
  const absl::StatusOr<StackConfig> config = LoadStackConfig(options.config);
  if (!config.ok()) return TiersFailed(config.status(), kExitWrongTiers);
  if (config->rdbs.empty()) {
    return TiersFailed(NotFound("{}: found no [[rdb]], expected one", options.config),
                       kExitWrongTiers);
  }
  for (const std::string& warning : config->warnings) {
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
  }
  const absl::StatusOr<PlannedRows> rows = ParsePlannedRows(options.rows, config->schemas);
  if (!rows.ok()) return TiersFailed(rows.status(), kExitWrongTiers);
  std::vector<RdbReport> reports;
  for (const rdb::RdbMainOptions& rdb : config->rdbs) {
    absl::StatusOr<RdbReport> report = ReportOf(*config, rdb, *rows);
    if (!report.ok()) return TiersFailed(Annotate(report.status(), rdb.name), EXIT_FAILURE);
    reports.push_back(*std::move(report));
  }
  return PrintReports(options, *rows, reports);
}

}  // namespace tickstack::cli
