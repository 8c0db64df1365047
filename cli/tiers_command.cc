#include "cli/tiers_command.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
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
#include "cli/stack_config.h"
#include "cli/table_bytes.h"
#include "mem/numa.h"
#include "mem/tier.h"
#include "table/format_value.h"
#include "table/table.h"

namespace tickstack::cli {
namespace {

constexpr int kExitWrongTiers = 2;
constexpr size_t kProbeBytes = size_t{16} << 20;

// A tier as it would be opened.
struct TierReport {
  mem::TierOptions options;
  bool used = false;
  mem::TierStats found;              // Valid if status is OK.
  std::optional<size_t> free_bytes;  // Free bytes of the file system, for a file kind.
  absl::Status status;
  size_t bytes = 0;  // Bytes of the tables' rows.
};

// A column, or the index of a table.
struct PartReport {
  std::string table;
  std::string column;
  std::string type;  // As in `[tables]`; empty for an index.
  std::string tier;
  size_t bytes = 0;
};

struct RdbReport {
  std::string name;
  int numa_node = -1;
  absl::Status numa_status;
  bool knows_tables = false;
  std::string queries;
  std::vector<TierReport> tiers;
  std::vector<PartReport> parts;
};

// True if its size is taken from a file system.
bool IsInFiles(const mem::TierOptions& options) { return !options.path.empty(); }

std::string KindText(const mem::TierOptions& options) {
  const std::string kind(mem::NameOf(options.kind));
  if (options.kind != mem::TierKind::kSimulate) return kind;
  return fmt::format("{} {} (SIMULATED)", kind, options.model.name);
}

absl::StatusOr<size_t> FreeBytes(const std::string& path) {
  struct statvfs found{};
  if (statvfs(path.c_str(), &found) != 0) return ErrnoStatus(errno, path);
  return size_t{found.f_bavail} * found.f_frsize;
}

// Returns the size of a file; 0 if there is none.
size_t FileBytes(const std::string& path) {
  struct stat found{};
  return stat(path.c_str(), &found) == 0 ? static_cast<size_t>(found.st_size) : 0;
}

// Opens the tier briefly: a file kind with 16 MiB, since its whole capacity would be taken from the
// file system; other kinds unchanged, which only reserves addresses.
void Probe(const std::string& rdb, TierReport& report) {
  mem::TierOptions probe = report.options;
  probe.touch_ahead_bytes = 0;
  if (IsInFiles(probe)) {
    const absl::StatusOr<size_t> free_bytes = FreeBytes(probe.path);
    if (free_bytes.ok()) {
      // An existing file of a persistent tier is reused, or created again in its own place.
      const bool persistent = probe.kind == mem::TierKind::kPersistent;
      const size_t held =
          persistent ? FileBytes(fmt::format("{}/{}", probe.path, rdb::PersistentFileOf(rdb))) : 0;
      report.free_bytes = *free_bytes + held;
      if (probe.capacity_bytes > *report.free_bytes) {
        report.status = ResourceExhausted("tier {}: size is {} bytes, {} has {} free", probe.name,
                                          probe.capacity_bytes, probe.path, *report.free_bytes);
      }
    }
    // The same mapping; a persistent tier would leave files.
    probe.kind = mem::TierKind::kFilesystem;
    probe.allocator = mem::FileAllocator::kArena;
    probe.capacity_bytes = kProbeBytes;
    if (free_bytes.ok() && *free_bytes < kProbeBytes) return;  // Too little space to try it.
  }
  const absl::StatusOr<std::unique_ptr<mem::Tier>> tier = mem::OpenTier(probe);
  if (!tier.ok()) {
    report.status = tier.status();
    return;
  }
  report.found = (*tier)->Stats();
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

absl::Status AddTable(const Schema& schema, const rdb::RdbMainOptions& rdb, size_t rows,
                      RdbReport& report) {
  const rdb::PlacementRules& placement = rdb.placement;
  TS_ASSIGN_OR_RETURN(const TableBytes bytes,
                      MeasureTableBytes(schema, rows, RowsPerChunk(schema, rdb)));
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const ColumnSpec& column = schema.columns[i];
    const std::string type(1, column.type == Type::kList ? '*' : LetterOf(column.type));
    report.parts.push_back({schema.table, column.name, type,
                            std::string(placement.TierOfColumn(schema.table, column.name)),
                            bytes.columns[i]});
  }
  if (HasIndex(schema)) {
    report.parts.push_back(
        {schema.table, "index", "", std::string(placement.TierOfIndex(schema.table)), bytes.index});
  }
  return absl::OkStatus();
}

absl::StatusOr<RdbReport> ReportOf(const StackConfig& config, const rdb::RdbMainOptions& rdb,
                                   size_t rows) {
  RdbReport report;
  report.name = rdb.name;
  report.numa_node = rdb.numa_node;
  if (rdb.numa_node >= 0) {
    report.numa_status = Annotate(mem::CheckNodes({rdb.numa_node}), "numa_node");
  }
  report.knows_tables = KnowsTables(config, rdb);
  report.queries = rdb.placement.TierOfQueries();
  for (const Schema& schema : config.schemas) {
    TS_RETURN_IF_ERROR(AddTable(schema, rdb, rows, report));
  }
  for (const rdb::TierConfig& tier : rdb.tiers) {
    TierReport& added = report.tiers.emplace_back();
    added.options = tier.options;
    added.used = rdb.placement.Uses(tier.options.name);
    if (added.used) Probe(rdb.name, added);
    for (const PartReport& part : report.parts) {
      if (part.tier == tier.options.name) added.bytes += part.bytes;
    }
  }
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
               {"bytes", tier.bytes}};
  if (!tier.status.ok()) json["error"] = Message(tier.status);
  return json;
}

Json JsonOf(const RdbReport& rdb) {
  Json json = {{"rdb", rdb.name},
               {"numa_node", rdb.numa_node < 0 ? Json() : Json(rdb.numa_node)},
               {"tables_of", rdb.knows_tables ? "configuration" : "others"},
               {"query", rdb.queries},
               {"tiers", Json::array()},
               {"columns", Json::array()}};
  if (!rdb.numa_status.ok()) json["error"] = Message(rdb.numa_status);
  for (const TierReport& tier : rdb.tiers) json["tiers"].push_back(JsonOf(tier));
  for (const PartReport& part : rdb.parts) {
    json["columns"].push_back({{"table", part.table},
                               {"column", part.column},
                               {"type", part.type},
                               {"tier", part.tier},
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

std::string TextOf(const RdbReport& rdb, size_t rows) {
  std::string text = fmt::format("rdb {}, {} rows of each table", rdb.name, rows);
  if (!rdb.knows_tables) text += " (it gets its tables from elsewhere: these are the file's)";
  if (rdb.numa_node >= 0) text += fmt::format(", on NUMA node {}", rdb.numa_node);
  text += fmt::format("\n\n{}\n", TiersText(rdb.tiers));
  using Of = const PartReport&;
  text += TextTable({{"table", Cells(rdb.parts, [](Of p) { return p.table; })},
                     {"column", Cells(rdb.parts, [](Of p) { return p.column; })},
                     {"type", Cells(rdb.parts, [](Of p) { return p.type; })},
                     {"tier", Cells(rdb.parts, [](Of p) { return p.tier; })},
                     {"takes", Cells(rdb.parts, [](Of p) { return BytesText(p.bytes); })}});
  return text + fmt::format("\nIntermediate results of queries are in tier {}.\n", rdb.queries);
}

bool Print(const std::string& text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written) std::perror("stdout");
  return written;
}

int TiersFailed(const absl::Status& status, int exit_code) {
  std::fprintf(stderr, "%s\n", std::string(Message(status)).c_str());
  return exit_code;
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
  Json json = {{"rows", options.rows}, {"rdbs", Json::array()}};
  std::string text;
  bool would_start = true;
  const auto check = [&would_start](std::string_view rdb, const absl::Status& status) {
    if (status.ok()) return;
    would_start = false;
    TiersFailed(Annotate(status, fmt::format("rdb {}", rdb)), EXIT_FAILURE);
  };
  for (const rdb::RdbMainOptions& rdb : config->rdbs) {
    const absl::StatusOr<RdbReport> report = ReportOf(*config, rdb, options.rows);
    if (!report.ok()) return TiersFailed(Annotate(report.status(), rdb.name), EXIT_FAILURE);
    json["rdbs"].push_back(JsonOf(*report));
    text += (text.empty() ? "" : "\n") + TextOf(*report, options.rows);
    check(rdb.name, report->numa_status);
    for (const TierReport& tier : report->tiers) check(rdb.name, tier.status);
  }
  const bool printed = Print(options.json ? json.dump(2) + "\n" : text);
  return would_start && printed ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace tickstack::cli
