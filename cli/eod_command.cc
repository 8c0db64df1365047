#include "cli/eod_command.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "cli/exit_codes.h"
#include "cli/shard_config.h"
#include "cli/tls_config.h"
#include "disk/left_out_table.h"
#include "disk/partition_writer.h"
#include "rdb/day_logs.h"
#include "wire/client.h"
#include "wire/protocol.h"

namespace tickstack::cli {

namespace protocol = wire::protocol;
namespace {

using namespace std::chrono_literals;

constexpr auto kAskTimeout = 10s;
constexpr auto kPause = 100ms;  // Interval of polls of the rdb.

struct DayCounts {
  int64_t ended = 0;
  int64_t kept = 0;
  int64_t errors = 0;
  int64_t done = 0;     // The newest finished day, as from rdb::NumberOfDate.
  int64_t blocked = 0;  // The newest day that waits for a person.
};

absl::StatusOr<Value> Ask(const std::string& where, const std::string& what) {
  TS_ASSIGN_OR_RETURN(const wire::Address address, wire::ParseAddress(where));
  wire::ClientOptions client;
  client.is_link = true;
  return wire::Ask(address, Value::String(what), kAskTimeout, client);
}

// Returns the value of a key in a dictionary from symbols to longs.
std::optional<int64_t> LongOf(const Value& dict, std::string_view key) {
  if (dict.type() != Type::kDict || !dict.keys().is(Type::kSymbol) ||
      !dict.values().is(Type::kLong)) {
    return std::nullopt;
  }
  const SymbolVector& names = dict.keys().symbols();
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == key) {
      return LoadLittle<int64_t>(dict.values().elements().data() + i * sizeof(int64_t));
    }
  }
  return std::nullopt;
}

absl::StatusOr<DayCounts> CountsOf(const std::string& rdb) {
  TS_ASSIGN_OR_RETURN(const Value stats, Ask(rdb, ".rdb.stats[]"));
  DayCounts counts;
  for (const auto& [key, target] :
       {std::pair("days_ended", &counts.ended), std::pair("days_kept", &counts.kept),
        std::pair("day_errors", &counts.errors), std::pair("day_done", &counts.done),
        std::pair("day_blocked", &counts.blocked)}) {
    const std::optional<int64_t> value = LongOf(stats, key);
    if (!value)
      return InvalidArgument(
          "{}: .rdb.stats[] lacks {}: expected an rdb of the same version as this program", rdb,
          key);
    *target = *value;
  }
  return counts;
}

// Returns the day that a tickerplant is logging.
absl::StatusOr<int32_t> DateOf(const std::string& tickerplant) {
  const absl::StatusOr<Value> date = Ask(tickerplant, std::string(protocol::kDate));
  if (!date.ok()) return Annotate(date.status(), tickerplant);
  if (date->is_atom_of(Type::kDate)) return date->as<int32_t>();
  return Unavailable("{}: .u.d is not a date: expected the address of a tickerplant", tickerplant);
}

// Waits until the rdb reports that the day is done. An rdb that restarts meanwhile loses its
// counts, but finds the day on disk and reports it as its newest finished day. That proves nothing
// if the newest finished day was `date` before (for a date that ends twice); then only the counts
// are used.
absl::Status WaitForDay(const std::string& rdb, int32_t date, const DayCounts& before,
                        double timeout_s) {
  const auto number = static_cast<int64_t>(rdb::NumberOfDate(date));
  const int64_t deadline_ns = MonotonicNs() + static_cast<int64_t>(timeout_s * 1e9);
  bool by_counts = before.done >= number;
  std::string last;
  while (MonotonicNs() < deadline_ns) {
    const absl::StatusOr<DayCounts> now = CountsOf(rdb);
    if (!now.ok()) {
      if (absl::IsInvalidArgument(now.status())) return now.status();
      last = Message(now.status());
      std::this_thread::sleep_for(kPause);
      continue;
    }
    if (now->blocked == number) {
      const absl::StatusOr<Value> why = Ask(rdb, ".rdb.blocked[]");
      return FailedPrecondition(
          "{}: the day is not written: {}", rdb,
          why.ok() && why->is(Type::kChar) ? why->text() : std::string_view("see its log"));
    }
    by_counts = by_counts && now->done >= number;
    if (now->done >= number && (!by_counts || (now->ended > before.ended && now->kept == 0))) {
      std::printf("the day is written to the database\n");
      return absl::OkStatus();
    }
    last = fmt::format("{} days ended since it began, {} kept, {} errors", now->ended, now->kept,
                       now->errors);
    std::this_thread::sleep_for(kPause);
  }
  return Unavailable("{}: the day is not written after {} s: {}", rdb, timeout_s, last);
}

// The current day of one tickerplant.
struct Day {
  std::string tickerplant;
  std::string rdb;  // It writes the day.
  int32_t date;
  DayCounts before;
};

absl::StatusOr<Day> FindDay(const EodOptions& options, const StackConfig& config) {
  std::string rdb = options.rdb;
  std::string of_rdb = "127.0.0.1:5010";  // The tickerplant that the rdb subscribes to.
  for (const rdb::RdbMainOptions& each : config.rdbs) {
    const std::string address = wire::AddressOf(each.listener).ToString();
    if (rdb.empty() && each.end_of_day) rdb = address;
    if (rdb == address) of_rdb = each.tickerplant;
  }
  const std::string tickerplant = !options.tickerplant.empty() ? options.tickerplant
                                  : config.tickerplant
                                      ? wire::AddressOf(config.tickerplant->listener).ToString()
                                      : of_rdb;
  if (rdb.empty() && options.config.empty()) {
    return InvalidArgument(
        "whose day? Expected --config STACK.toml, or --rdb HOST:PORT of an rdb that writes days");
  }
  if (rdb.empty()) {
    return InvalidArgument("{}: no rdb writes days: expected a section [eod]", options.config);
  }
  TS_ASSIGN_OR_RETURN(const DayCounts before, CountsOf(rdb));
  TS_ASSIGN_OR_RETURN(const int32_t date, DateOf(tickerplant));
  return Day{tickerplant, rdb, date, before};
}

// Asks the tickerplants of a stack to end their day. In a stack with shards, an attempt before may
// have ended it in some of them: they are a day ahead. Changes those days to the one that ends.
// Returns the first error once all have been asked.
absl::Status EndEach(std::vector<Day>& days) {
  const auto [first, last] = std::ranges::minmax(days, {}, &Day::date);
  if (last.date > first.date + 1) {
    return FailedPrecondition("{} is at {}, {} at {}: their days do not end together",
                              first.tickerplant, FormatDate(first.date), last.tickerplant,
                              FormatDate(last.date));
  }
  absl::Status error;
  for (Day& day : days) {
    if (day.date > first.date) {
      LogInfo("day has ended here before tickerplant={} date={}", day.tickerplant,
              FormatDate(first.date));
      day.date = first.date;
      day.before.done = 0;  // The rdb's newest finished day says whether it is written.
      continue;
    }
    // Names the day, so that no other one ends if this one has ended meanwhile.
    const absl::StatusOr<Value> ended =
        Ask(day.tickerplant, fmt::format(".u.endofday[{}]", FormatDate(day.date)));
    if (!ended.ok()) error.Update(Annotate(ended.status(), day.tickerplant));
  }
  return error;
}

// The configurations of all shards, or the whole one if there are none.
std::vector<StackConfig> ShardsOf(const StackConfig& config) {
  if (config.shard_map == nullptr) return {config};
  std::vector<StackConfig> shards;
  for (const std::string& shard : config.shard_map->shards()) {
    shards.push_back(OneShard(config, shard));
  }
  return shards;
}

// Asks the tickerplants to end the day, and waits until the rdbs have written it and notified the
// hdbs.
absl::Status EndDays(const EodOptions& options, const StackConfig& config) {
  std::vector<Day> days;
  const bool by_address = !options.tickerplant.empty() || !options.rdb.empty();
  if (by_address && config.shard_map != nullptr) {
    return InvalidArgument(
        "{} has shards: expected neither --tickerplant nor --rdb, as the day "
        "ends in all of them",
        options.config);
  }
  TS_RETURN_IF_ERROR(BeginLinks(config, /*may_create=*/false));
  // All must answer before one day ends.
  for (const StackConfig& shard : ShardsOf(config)) {
    TS_ASSIGN_OR_RETURN(Day day, FindDay(options, shard));
    days.push_back(std::move(day));
  }
  TS_RETURN_IF_ERROR(EndEach(days));
  for (const Day& day : days) {
    TS_RETURN_IF_ERROR(WaitForDay(day.rdb, day.date, day.before, options.timeout_s));
  }
  return absl::OkStatus();
}

// Checks that it is the log of that day, and that the day is over: a partition with a part of a day
// would prevent writing the rest.
absl::Status CheckPastLog(const std::string& log, int32_t date) {
  const std::optional<rdb::DayLog> named = rdb::ParseDayLog(log);
  if (named && named->date != date) {
    return InvalidArgument("--log {}: expected the log of {}, found a name that ends with {}", log,
                           FormatDate(date), FormatDate(named->date));
  }
  if (!named) LogWarn("the log's name does not say its date log={} date={}", log, FormatDate(date));
  TS_ASSIGN_OR_RETURN(const File file, File::OpenForReading(log));
  TS_ASSIGN_OR_RETURN(const bool open, file.IsLockedByAnother());
  if (open) {
    return FailedPrecondition(
        "{}: a tickerplant has it open, its day is not over: `tickstack eod` without --date ends "
        "it",
        log);
  }
  return absl::OkStatus();
}

absl::Status WritePastDay(const EodOptions& options, const StackConfig& config, int32_t date) {
  rdb::EndOfDayOptions how;
  for (const rdb::RdbMainOptions& each : config.rdbs) {
    if (each.end_of_day) how = *each.end_of_day;
  }
  if (!options.database.empty()) how.database = options.database;
  if (how.database.empty()) how.database = config.data + "/hdb";
  const std::string folder = how.log_folder.empty() ? config.data + "/tplog" : how.log_folder;
  const std::string name = config.tickerplant ? config.tickerplant->log_name : "sym";
  const std::string log =
      options.log.empty() ? fmt::format("{}/{}{}", folder, name, FormatDate(date)) : options.log;
  TS_RETURN_IF_ERROR(CheckPastLog(log, date));
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<rdb::LoggedDay> day,
                      rdb::LoggedDay::Replay(log, config.schemas, [] { return false; }));
  WorkerPool workers(static_cast<size_t>(how.threads - 1));
  disk::PartitionWriterOptions writer;
  writer.database = how.database;
  writer.compression = how.compression;
  writer.workers = &workers;
  writer.memory_bytes = how.memory_bytes;
  std::vector<Snapshot> tables = day->Tables();
  writer.left_out = day->left_out();
  rdb::LeaveOutUnwritable(how.database, date, tables, writer.left_out);
  absl::StatusOr<disk::WrittenPartition> written = disk::WritePartition(writer, date, tables);
  if (absl::IsFailedPrecondition(written.status())) {
    TS_ASSIGN_OR_RETURN(const std::string partition, disk::FindPartition(how.database, date));
    if (partition.empty()) return written.status();
    TS_ASSIGN_OR_RETURN(const std::vector<Snapshot> missing, rdb::TablesToAdd(partition, tables));
    if (missing.empty()) return written.status();
    written = disk::AddTables(writer, date, missing);
  }
  TS_RETURN_IF_ERROR(written.status());
  rdb::WarnOfChanges(date, *written);
  for (const auto& table : written->tables) {
    std::printf("%s/%s %llu rows\n", written->path.c_str(), table.table.c_str(),
                static_cast<unsigned long long>(table.rows));
  }
  const std::string lacks = rdb::TextOf(writer.left_out);
  return lacks.empty() ? absl::OkStatus() : FailedPrecondition("{}", lacks);
}

absl::Status WritePastDays(const EodOptions& options, const StackConfig& config, int32_t date) {
  if (config.shard_map != nullptr && !(options.log.empty() && options.database.empty())) {
    return InvalidArgument("{} has shards: expected neither --log nor --database", options.config);
  }
  for (const StackConfig& shard : ShardsOf(config)) {
    TS_RETURN_IF_ERROR(WritePastDay(options, shard, date));
  }
  return absl::OkStatus();
}

absl::StatusOr<StackConfig> ConfigOf(const EodOptions& options) {
  StackConfig config;
  if (!options.config.empty()) {
    TS_ASSIGN_OR_RETURN(config, LoadStackConfig(options.config));
    ResolveAddresses(config);
  } else {
    config.schemas = DefaultSchemas();
  }
  if (options.data) SetData(config, *options.data);
  if (!options.credentials.empty()) config.security.credentials = options.credentials;
  return config;
}

int Failed(const absl::Status& status, int code) {
  std::fprintf(stderr, "%s\n", std::string(Message(status)).c_str());
  return code;
}

}  // namespace

int RunEod(const EodOptions& options) {
  const absl::StatusOr<StackConfig> config = ConfigOf(options);
  if (!config.ok()) return Failed(config.status(), kExitWrongUsage);
  InitLogging("eod", config->log_level);
  RestrictFileAccess(config->readable_by);
  if (const absl::Status tls = UseTls(*config); !tls.ok()) return Failed(tls, kExitWrongUsage);
  if (!options.date) {
    const absl::Status ended = EndDays(options, *config);
    return ended.ok() ? 0 : Failed(ended, absl::IsInvalidArgument(ended) ? kExitWrongUsage : 1);
  }
  const std::optional<int32_t> date = ParseDate(*options.date);
  if (!date) {
    return Failed(
        InvalidArgument("--date: expected a date such as 2013.10.07, found \"{}\"", *options.date),
        kExitWrongUsage);
  }
  const absl::Status written = WritePastDays(options, *config, *date);
  return written.ok() ? 0 : Failed(written, 1);
}

}  // namespace tickstack::cli
