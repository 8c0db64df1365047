#include "cli/check_command.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/human_text.h"
#include "base/logging.h"
#include "base/machine.h"
#include "base/status.h"
#include "cli/schema_conflicts.h"
#include "cli/stack_config.h"
#include "cli/table_bytes.h"
#include "cli/tier_probe.h"
#include "security/users_file.h"
#include "tickerplant/cluster/etcd_client.h"
#include "wire/listen_on.h"
#include "wire/listener_options.h"
#include "wire/tls_context.h"

namespace tickstack::cli {
namespace {

constexpr int kExitWrongCheck = 2;
constexpr int64_t kCheckedRows = 1'000'000;  // In each table, to tell the space that they take.
constexpr size_t kSampleRows = 100'000;      // Rows that are filled to find that.
constexpr size_t kSymbolBytes = 5;           // A symbol of four letters in a message.
constexpr size_t kNestedBytes = 14;          // A short string in a message.
constexpr size_t kEnumeratedBytes = 8;       // A symbol in a partition.

struct Listening {
  std::string name;
  std::string role;
  std::string host;
  int port;
  absl::Status possible;  // Not OK: it never could listen there, whatever else runs.
  std::string taken;      // By whom the port is in use now; empty: it is free.
};

struct Folder {
  std::string what;
  std::string path;
  uint64_t free_bytes = 0;
  absl::Status usable;
};

struct TierUse {
  std::string rdb;
  mem::TierOptions options;
  TierProbe probe;
};

// Bytes that kCheckedRows rows of a table take.
struct TableUse {
  std::string table;
  uint64_t memory_bytes = 0;     // In an rdb.
  uint64_t log_bytes = 0;        // Without the heads of messages.
  uint64_t partition_bytes = 0;  // Before compression.
};

struct CheckReport {
  std::vector<Listening> processes;
  std::vector<Folder> folders;
  std::vector<TierUse> tiers;
  std::vector<TableUse> tables;
  std::vector<std::string> problems;  // Why it would not start here.
};

// ---- Looking

std::vector<Listening> LookAtPorts(StackConfig& config) {
  std::vector<Listening> found;
  for (const ListedProcess& listed : ProcessesOf(config)) {
    const wire::ListenerOptions& where = listed.process->listener();
    Listening process{.name = listed.process->name(),
                      .role = std::string(listed.kind->role),
                      .host = where.host,
                      .port = where.port,
                      .possible = {},
                      .taken = {}};
    const auto other = std::ranges::find_if(found, [&process](const Listening& each) {
      return process.port != 0 && each.port == process.port && each.host == process.host;
    });
    if (other != found.end()) {
      process.possible = InvalidArgument("port {} is also that of {}: give one of them another",
                                         process.port, other->name);
    } else if (process.port != 0) {
      const absl::Status bound =
          wire::ListenOn(where.host, static_cast<uint16_t>(where.port)).status();
      // The stack itself may be running.
      if (!bound.ok()) process.taken = Message(bound);
    }
    found.push_back(std::move(process));
  }
  return found;
}

// A folder that exists, or can be created.
Folder LookAtFolder(std::string what, const std::string& path) {
  Folder folder{std::move(what), path, 0, {}};
  std::error_code error;
  std::filesystem::path there = std::filesystem::absolute(path, error);
  while (!std::filesystem::exists(there, error) && there.has_relative_path()) {
    there = there.parent_path();
  }
  if (!std::filesystem::is_directory(there, error)) {
    folder.usable = FailedPrecondition("{}: {} is not a directory", path, there.string());
    return folder;
  }
  if (::access(there.c_str(), R_OK | W_OK | X_OK) != 0) {
    folder.usable = FailedPrecondition("{}: no right to write to {}", path, there.string());
    return folder;
  }
  struct statvfs found{};
  if (statvfs(there.c_str(), &found) != 0) {
    folder.usable = ErrnoStatus(errno, there.string());
  } else {
    folder.free_bytes = uint64_t{found.f_bavail} * found.f_frsize;
  }
  return folder;
}

absl::StatusOr<TableUse> Measure(const Schema& schema) {
  TableUse use{.table = schema.table};
  TS_ASSIGN_OR_RETURN(const TableBytes memory, MeasureTableBytes(schema, kSampleRows));
  uint64_t bytes = memory.index;
  for (const size_t column : memory.columns) bytes += column;
  use.memory_bytes = bytes * (kCheckedRows / kSampleRows);
  for (const ColumnSpec& column : schema.columns) {
    const bool is_symbol = column.type == Type::kSymbol;
    const bool is_nested = column.type == Type::kList;
    const size_t width = is_symbol || is_nested ? 0 : WidthOf(column.type);
    use.log_bytes += kCheckedRows * (is_symbol ? kSymbolBytes : is_nested ? kNestedBytes : width);
    use.partition_bytes += kCheckedRows * (is_symbol   ? kEnumeratedBytes
                                           : is_nested ? kNestedBytes
                                                       : width);
  }
  return use;
}

// Checks what the processes check before they listen. Unlike them, creates no credentials.
void AddSecurityProblems(StackConfig& config, std::vector<std::string>& problems) {
  const auto add = [&problems](std::string_view place, const absl::Status& status) {
    if (!status.ok()) problems.push_back(fmt::format("{}: {}", place, Message(status)));
  };
  if (!config.security.users.empty()) {
    add("users", security::LoadUsers(config.security.users).status());
  }
  const bool open = config.security.users.empty() && !config.security.insecure;
  const wire::TlsServerOptions* certificate = nullptr;
  for (const ListedProcess& listed : ProcessesOf(config)) {
    const wire::ListenerOptions& listener = listed.process->listener();
    if (open) add(listed.process->name(), wire::CheckReach(listener));
    if (listener.tls != wire::TlsUse::kOff) certificate = &listener.tls_files;
  }
  if (config.tickerplant) {
    add("etcd", tickerplant::CheckEtcdFiles(config.tickerplant->replication.etcd_files));
  }
  if (certificate != nullptr) add("tls", wire::TlsServerContext::Load(*certificate).status());
}

// Adds file systems that have space for each tier in them, but not for all of them.
void AddSpaceProblems(CheckReport& report) {
  struct Together {
    std::vector<std::string> tiers;
    std::string path;
    size_t wanted = 0;
    size_t free_bytes = 0;
    bool fits = true;  // Each of them alone.
  };
  std::map<dev_t, Together> by_device;
  for (const TierUse& tier : report.tiers) {
    struct stat found{};
    if (!tier.probe.free_bytes || ::stat(tier.options.path.c_str(), &found) != 0) continue;
    Together& together = by_device[found.st_dev];
    together.tiers.push_back(fmt::format("{} of rdb {}", tier.options.name, tier.rdb));
    together.path = tier.options.path;
    together.wanted += tier.options.capacity_bytes;
    together.free_bytes = std::max(together.free_bytes, *tier.probe.free_bytes);
    together.fits = together.fits && tier.probe.status.ok();
  }
  for (const auto& [device, together] : by_device) {
    if (!together.fits || together.wanted <= together.free_bytes) continue;
    report.problems.push_back(fmt::format("tiers {}: together {} bytes, {} has {} free",
                                          fmt::join(together.tiers, ", "), together.wanted,
                                          together.path, together.free_bytes));
  }
}

void AddProblems(StackConfig& config, CheckReport& report) {
  for (const Listening& process : report.processes) {
    if (!process.possible.ok()) {
      report.problems.push_back(fmt::format("{}: {}", process.name, Message(process.possible)));
    }
  }
  for (const Folder& folder : report.folders) {
    if (!folder.usable.ok()) {
      report.problems.push_back(fmt::format("{}: {}", folder.what, Message(folder.usable)));
    }
  }
  for (const rdb::RdbMainOptions& rdb : config.rdbs) {
    for (const std::string& conflict : SchemaConflictsOf(config, rdb)) {
      report.problems.push_back(fmt::format("database of {}: {}", rdb.name, conflict));
    }
  }
  // A stack that runs already has its tiers, whose space is no longer free.
  const bool may_run = std::ranges::any_of(
      report.processes, [](const Listening& each) { return !each.taken.empty(); });
  for (const TierUse& tier : report.tiers) {
    const absl::Status& status = tier.probe.status;
    if (status.ok() || (may_run && absl::IsResourceExhausted(status))) continue;
    report.problems.push_back(fmt::format("rdb {}: {}", tier.rdb, Message(status)));
  }
  if (!may_run) AddSpaceProblems(report);
  AddSecurityProblems(config, report.problems);
}

absl::StatusOr<CheckReport> LookAt(StackConfig& config) {
  // A tier that is opened to try it logs what concerns a stack that runs.
  InitLogging("tickstack", LogLevel::kError);
  CheckReport report;
  report.processes = LookAtPorts(config);
  report.folders.push_back(LookAtFolder("data", config.data));
  for (const rdb::RdbMainOptions& rdb : config.rdbs) {
    if (rdb.end_of_day && !rdb.end_of_day->database.empty()) {
      report.folders.push_back(LookAtFolder("database of " + rdb.name, rdb.end_of_day->database));
    }
    for (const rdb::TierConfig& tier : rdb.tiers) {
      if (!rdb.placement.Uses(tier.options.name)) continue;
      report.tiers.push_back({rdb.name, tier.options, ProbeTier(rdb.name, tier.options)});
    }
  }
  for (const Schema& schema : config.schemas) {
    TS_ASSIGN_OR_RETURN(const TableUse use, Measure(schema));
    report.tables.push_back(use);
  }
  AddProblems(config, report);
  return report;
}

// ---- For programs

using Json = nlohmann::ordered_json;

Json JsonOf(const CheckReport& report) {
  Json json = {{"valid", true},
               {"would_start", report.problems.empty()},
               {"processes", Json::array()},
               {"folders", Json::array()},
               {"tiers", Json::array()},
               {"rows", kCheckedRows},
               {"tables", Json::array()},
               {"problems", report.problems}};
  for (const Listening& each : report.processes) {
    json["processes"].push_back({{"name", each.name},
                                 {"role", each.role},
                                 {"host", each.host},
                                 {"port", each.port},
                                 {"taken", each.taken}});
  }
  for (const Folder& each : report.folders) {
    json["folders"].push_back(
        {{"what", each.what}, {"path", each.path}, {"free_bytes", each.free_bytes}});
  }
  for (const TierUse& each : report.tiers) {
    const bool bounded = each.options.capacity_bytes != SIZE_MAX;
    json["tiers"].push_back({{"rdb", each.rdb},
                             {"tier", each.options.name},
                             {"kind", mem::NameOf(each.options.kind)},
                             {"path", each.options.path},
                             {"size_bytes", bounded ? Json(each.options.capacity_bytes) : Json()},
                             {"overflow_bytes", each.options.overflow_bytes}});
  }
  for (const TableUse& each : report.tables) {
    json["tables"].push_back({{"table", each.table},
                              {"memory_bytes", each.memory_bytes},
                              {"log_bytes", each.log_bytes},
                              {"partition_bytes", each.partition_bytes}});
  }
  return json;
}

// ---- For people

std::string AddressText(const Listening& process) {
  if (process.port == 0) return fmt::format("{}, a port that the kernel chooses", process.host);
  return fmt::format("{}:{}{}", process.host, process.port,
                     process.taken.empty() ? "" : fmt::format(" (now: {})", process.taken));
}

std::string TierText(const TierUse& use) {
  std::string text = fmt::format("  rdb {}: tier {}, {}", use.rdb, use.options.name,
                                 mem::NameOf(use.options.kind));
  if (!use.options.path.empty()) text += fmt::format(" in {}", use.options.path);
  const bool bounded = use.options.capacity_bytes != SIZE_MAX;
  text += bounded ? ", " + BytesText(uint64_t{use.options.capacity_bytes})
                  : ", up to the machine's " + BytesText(ThisMachine().memory_bytes);
  if (use.options.overflow_bytes == 0) return text;
  return text + fmt::format(", then {} of DRAM", BytesText(uint64_t{use.options.overflow_bytes}));
}

std::string TextOf(const CheckReport& report, const std::string& config) {
  const std::string_view verdict =
      report.problems.empty() ? "no errors" : "its stack would not start here";
  std::string text = fmt::format("{}: {}\n\nprocesses\n", config, verdict);
  for (const Listening& each : report.processes) {
    text += fmt::format("  {:<14} {}\n", each.name, AddressText(each));
  }
  text += "\nfolders\n";
  for (const Folder& each : report.folders) {
    text += fmt::format("  {:<14} {}, {} free\n", each.what, each.path, BytesText(each.free_bytes));
  }
  if (!report.tiers.empty()) text += "\nmemory for rows\n";
  for (const TierUse& each : report.tiers) text += TierText(each) + "\n";
  text += fmt::format("\n{} rows of each table take\n  {:<14} {:>10} {:>10} {:>10}\n",
                      Thousands(kCheckedRows), "table", "rdb", "log", "partition");
  for (const TableUse& each : report.tables) {
    text += fmt::format("  {:<14} {:>10} {:>10} {:>10}\n", each.table, BytesText(each.memory_bytes),
                        BytesText(each.log_bytes), BytesText(each.partition_bytes));
  }
  return text;
}

bool PrintCheck(const std::string& text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written) std::perror("stdout");
  return written;
}

int PrintErrors(const ConfigErrors& found, bool json) {
  if (json) {
    const Json all = {
        {"valid", false}, {"errors", found.errors}, {"may_hide_more", found.may_hide_more}};
    PrintCheck(all.dump(2) + "\n");
    return kExitWrongCheck;
  }
  for (const std::string& error : found.errors) std::fprintf(stderr, "%s\n", error.c_str());
  if (found.may_hide_more) {
    std::fprintf(stderr, "More errors may show once these are corrected.\n");
  }
  return kExitWrongCheck;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ProblemsOf(StackConfig& config) {
  TS_ASSIGN_OR_RETURN(CheckReport report, LookAt(config));
  return std::move(report.problems);
}

int RunCheck(const CheckOptions& options) {
  const ConfigErrors found = FindConfigErrors(options.config);
  if (!found.errors.empty()) return PrintErrors(found, options.json);
  absl::StatusOr<StackConfig> config = LoadStackConfig(options.config);
  if (!config.ok()) {  // It changed meanwhile.
    return PrintErrors({{std::string(Message(config.status()))}, false}, options.json);
  }
  if (options.data) SetData(*config, *options.data);
  for (const std::string& warning : config->warnings) {
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
  }
  const absl::StatusOr<CheckReport> report = LookAt(*config);
  if (!report.ok()) {
    std::fprintf(stderr, "%s\n", std::string(Message(report.status())).c_str());
    return EXIT_FAILURE;
  }
  const bool printed =
      PrintCheck(options.json ? JsonOf(*report).dump(2) + "\n" : TextOf(*report, options.config));
  for (const std::string& problem : report->problems) {
    std::fprintf(stderr, "would not start: %s\n", problem.c_str());
  }
  return printed && report->problems.empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace tickstack::cli
