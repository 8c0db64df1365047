#include "cli/hdb_queries.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "base/file.h"
#include "base/human_text.h"
#include "base/status.h"
#include "base/time.h"
#include "cli/hdb_generate.h"
#include "cli/queries_page.h"
#include "cli/query_output.h"
#include "disk/database.h"
#include "loadtest/process_usage.h"
#include "loadtest/stack_run.h"
#include "measure/query_suite/history_clients.h"
#include "measure/query_suite/history_queries.h"
#include "measure/query_suite/history_results.h"
#include "measure/query_suite/partition_files.h"
#include "measure/storage_bench/scratch_directory.h"
#include "measure/storage_bench/signals.h"

namespace tickstack::cli {
namespace {

namespace bench = measure::storage_bench;
namespace suite = measure::query_suite;
using namespace std::chrono_literals;

constexpr int kQueriesWrongUsage = 2;
constexpr int64_t kWeekdaysOfYear = 261;
constexpr auto kReadyInterval = 20ms;
constexpr std::string_view kHdbName = "hdb";

// Returns the queries that were chosen, all by default.
absl::StatusOr<std::vector<const suite::HistoryQuery*>> ChosenQueries(
    const std::vector<std::string>& names) {
  std::vector<const suite::HistoryQuery*> chosen;
  for (const suite::HistoryQuery& query : suite::HistoryQueries()) {
    if (names.empty() || std::ranges::find(names, query.name) != names.end()) {
      chosen.push_back(&query);
    }
  }
  for (const std::string& name : names) {
    const auto found = std::ranges::find(suite::HistoryQueries(), name, &suite::HistoryQuery::name);
    if (found == suite::HistoryQueries().end()) {
      return InvalidArgument("--only {}: no such query; --list shows all", name);
    }
  }
  return chosen;
}

// A running hdb that the clients ask.
class HistoryHdb {
 public:
  HistoryHdb(std::string database, std::string folder, const bench::HeldSignals& signals)
      : run_(std::move(database), std::move(folder)), signals_(signals) {}

  absl::Status Start(int query_threads) {
    std::string config = fmt::format("[hdb]\ndatabase = {}\n", nlohmann::json(run_.name()).dump());
    if (query_threads > 0) config += fmt::format("query_threads = {}\n", query_threads);
    TS_RETURN_IF_ERROR(run_.Start(config));
    while (true) {
      TS_ASSIGN_OR_RETURN(const bool ready, run_.IsReady());
      if (ready) return absl::OkStatus();
      TS_RETURN_IF_ERROR(signals_.Check());
      std::this_thread::sleep_for(kReadyInterval);
    }
  }

  absl::StatusOr<suite::DatabaseFacts> Facts() const;

  // Closes and opens the database, so that no file is mapped.
  absl::Status Reload() const { return run_.Ask(kHdbName, ".hdb.reload[]").status(); }
  uint64_t ReadBytes() const {
    const std::optional<loadtest::ProcessUsage> usage = loadtest::UsageOf(process().pid);
    return usage ? usage->read_bytes : 0;
  }
  absl::StatusOr<std::unique_ptr<suite::HistoryClients>> Connect(size_t clients) const {
    return suite::HistoryClients::Connect({"127.0.0.1", process().port, ""}, clients,
                                          [this] { return signals_.Check(); });
  }

 private:
  const loadtest::StackProcess& process() const { return run_.processes().front(); }
  absl::StatusOr<Value> AskFor(std::string_view query, Type type) const;

  loadtest::StackRun run_;
  const bench::HeldSignals& signals_;
};

absl::StatusOr<Value> HistoryHdb::AskFor(std::string_view query, Type type) const {
  TS_ASSIGN_OR_RETURN(Value answer, run_.Ask(kHdbName, query));
  if (answer.is(type) && answer.count() > 0) return answer;
  return FailedPrecondition("{}: expected a {} vector", query, NameOf(type));
}

absl::StatusOr<suite::DatabaseFacts> HistoryHdb::Facts() const {
  // Fails with the name of a column that a query needs and the database lacks.
  constexpr std::string_view kColumns =
      "select[1] time,sym,bid,ask,bsize,asize,ex from quote where date=last date";
  TS_RETURN_IF_ERROR(run_.Ask(kHdbName, kColumns).status());
  suite::DatabaseFacts facts;
  TS_ASSIGN_OR_RETURN(const Value dates, AskFor("date", Type::kDate));
  facts.dates.assign(dates.span<int32_t>().begin(), dates.span<int32_t>().end());
  TS_ASSIGN_OR_RETURN(
      const Value symbols,
      AskFor("asc exec distinct sym from quote where date=last date", Type::kSymbol));
  for (size_t i = 0; i < symbols.count(); ++i) {
    const std::string_view name = symbols.symbols()[i];
    if (suite::IsPlainSymbol(name)) facts.symbols.emplace_back(name);
  }
  if (facts.symbols.empty()) return FailedPrecondition("quote: no symbols on the last day");
  constexpr std::string_view kTimes =
      "value exec min time,max time from select time,price,size from trade where date=last date";
  TS_ASSIGN_OR_RETURN(const Value times, AskFor(kTimes, Type::kTimestamp));
  const int64_t first = times.span<int64_t>().front(), last = times.span<int64_t>().back();
  if (first > last) return FailedPrecondition("trade: no trades on the last day");
  facts.first_ns = first - int64_t{DayOf(first)} * kNsPerDay;
  facts.last_ns = last - int64_t{DayOf(last)} * kNsPerDay;
  return facts;
}

// One run of all chosen queries.
class HistoryRun {
 public:
  HistoryRun(const HdbQueriesOptions& options, bench::CacheDrop drop, const HistoryHdb& server,
             const disk::Database& database, QueriesRun& measured)
      : options_(options), drop_(drop), server_(server), files_(database), measured_(measured) {
    for (const auto& segment : files_.segments()) measured_.directories.push_back(segment.path);
  }

  absl::Status RunAll(const std::vector<const suite::HistoryQuery*>& queries) {
    TS_ASSIGN_OR_RETURN(on_memory_, files_.OnMemory());
    TS_ASSIGN_OR_RETURN(measured_.facts, server_.Facts());
    fmt::print(stderr, "{} days from {} to {}, {} symbols\n", measured_.facts.dates.size(),
               FormatDate(measured_.facts.dates.front()), FormatDate(measured_.facts.dates.back()),
               measured_.facts.symbols.size());
    for (const suite::HistoryQuery* query : queries) TS_RETURN_IF_ERROR(RunQuery(*query));
    return absl::OkStatus();
  }

 private:
  absl::Status RunQuery(const suite::HistoryQuery& query);
  absl::Status RunRound(suite::HistoryClients& clients, std::span<const std::string> questions,
                        suite::HistoryRound round);
  void Report(const suite::HistoryRound& round) const;
  absl::Status WriteAnswers(const suite::HistoryQuery& query, std::span<const std::string> texts);

  const HdbQueriesOptions& options_;
  const bench::CacheDrop drop_;
  const HistoryHdb& server_;
  suite::PartitionFiles files_;
  QueriesRun& measured_;
  bool on_memory_ = false;
  std::vector<Value> answers_;  // By client, for the current query.
};

absl::Status HistoryRun::RunQuery(const suite::HistoryQuery& query) {
  const size_t most = *std::ranges::max_element(options_.clients);
  answers_.assign(most, Value::Error(""));
  std::vector<std::string> texts;
  for (size_t client = 0; client < most; ++client) {
    texts.push_back(
        suite::TextOf(query, suite::SubjectOf(query, measured_.facts, options_.seed, client)));
  }
  if (!query.overlap && most > suite::DistinctSubjects(query, measured_.facts)) {
    fmt::print(stderr,
               "{}: the database has days and symbols for {} clients; more of them overlap\n",
               query.name, suite::DistinctSubjects(query, measured_.facts));
  }
  for (const size_t count : options_.clients) {
    TS_ASSIGN_OR_RETURN(const std::unique_ptr<suite::HistoryClients> clients,
                        server_.Connect(count));
    const std::span<const std::string> questions = std::span(texts).first(count);
    for (const bool cold : {true, false}) {
      const absl::Status status = RunRound(*clients, questions,
                                           {.query = std::string(query.name),
                                            .clients = count,
                                            .cold = cold,
                                            .times = {},
                                            .cached_before = {},
                                            .cached_after = {}});
      TS_RETURN_IF_ERROR(Annotate(status, query.name));
    }
  }
  return options_.answers.empty() ? absl::OkStatus() : WriteAnswers(query, texts);
}

absl::Status HistoryRun::RunRound(suite::HistoryClients& clients,
                                  std::span<const std::string> questions,
                                  suite::HistoryRound round) {
  if (round.cold) {
    TS_RETURN_IF_ERROR(server_.Reload());
    TS_ASSIGN_OR_RETURN(const bench::CacheDrop dropped, files_.Drop(drop_));
    measured_.drop = bench::NameOf(dropped);
  }
  round.on_memory = on_memory_;
  TS_ASSIGN_OR_RETURN(suite::PartitionFiles::Cached cached, files_.CachedBytes());
  round.cached_before = std::move(cached.bytes);
  round.database_bytes = cached.database_bytes;
  const uint64_t read_before = server_.ReadBytes();
  TS_ASSIGN_OR_RETURN(round.times,
                      clients.Ask(questions, round.cold ? 0 : options_.seconds, answers_));
  round.read_bytes = server_.ReadBytes() - read_before;
  TS_ASSIGN_OR_RETURN(cached, files_.CachedBytes());
  round.cached_after = std::move(cached.bytes);
  round.rows = answers_.front().count();
  Report(round);
  measured_.rounds.push_back(std::move(round));
  return absl::OkStatus();
}

void HistoryRun::Report(const suite::HistoryRound& round) const {
  const Histogram& ns = round.times.ns;
  fmt::print(stderr, "{:<22} {:>4} clients {}  p50 {:>9}  p99 {:>9}  {:>9.1f}/s  {}\n", round.query,
             round.clients, round.cold ? "cold" : "warm", NsText(ns.ValueAtPercentile(50)),
             NsText(ns.ValueAtPercentile(99)),
             static_cast<double>(ns.Count()) * 1e9 /
                 static_cast<double>(std::max<int64_t>(1, round.times.elapsed_ns)),
             round.ServedBy());
}

absl::Status HistoryRun::WriteAnswers(const suite::HistoryQuery& query,
                                      std::span<const std::string> texts) {
  TS_ASSIGN_OR_RETURN(File file, File::OpenOrCreate(options_.answers));
  for (size_t client = 0; client < texts.size(); ++client) {
    const suite::Subject subject = suite::SubjectOf(query, measured_.facts, options_.seed, client);
    const nlohmann::ordered_json json = {
        {"query", query.name},          {"client", client + 1},
        {"q", texts[client]},           {"from", FormatDate(subject.from)},
        {"to", FormatDate(subject.to)}, {"symbols", subject.symbols},
        {"begin_ns", subject.begin_ns}, {"end_ns", subject.end_ns}};
    std::string line = json.dump();
    std::string answer = Formatted(answers_[client], OutputFormat::kJson, {});
    while (answer.ends_with('\n')) answer.pop_back();
    line.replace(line.size() - 1, 1, fmt::format(",\"answer\":{}}}\n", answer));
    TS_ASSIGN_OR_RETURN(const uint64_t end, file.Bytes());
    TS_RETURN_IF_ERROR(file.WriteAt(end, std::as_bytes(std::span(line))));
  }
  return absl::OkStatus();
}

// Generates the database if it has no days and the options say so.
absl::Status MakeDatabase(const HdbQueriesOptions& options) {
  TS_ASSIGN_OR_RETURN(const bool is_there, FileExists(options.directory));
  if (is_there) {
    TS_ASSIGN_OR_RETURN(const std::shared_ptr<const disk::Database> database,
                        disk::Database::Open(options.directory));
    if (!database->partitions().empty()) return absl::OkStatus();
  }
  if (options.years == 0) {
    return NotFound("{}: no days to query; --years 1 generates a year", options.directory);
  }
  const int code = RunHdbGenerate({.directory = options.directory,
                                   .days = options.years * kWeekdaysOfYear,
                                   .from = "2020.01.01",
                                   .symbols = options.symbols,
                                   .quotes = options.quotes,
                                   .seed = options.seed});
  return code == 0 ? absl::OkStatus()
                   : Internal("{}: the days were not generated", options.directory);
}

// Refuses to measure for a long time what could then not be written.
absl::Status CheckOutputs(const HdbQueriesOptions& options) {
  std::vector<std::string> files;
  if (!options.answers.empty()) files.push_back(options.answers);
  if (!options.results.empty()) files.push_back(options.results + "/queries.psv");
  for (const std::string& file : files) {
    TS_ASSIGN_OR_RETURN(const bool is_there, FileExists(file));
    if (is_there) return InvalidArgument("{}: has results of an earlier run", file);
  }
  return options.results.empty() ? absl::OkStatus() : CreateDirectories(options.results);
}

absl::Status RunQueries(const HdbQueriesOptions& options, bench::CacheDrop drop,
                        const std::vector<const suite::HistoryQuery*>& queries,
                        QueriesRun& measured) {
  TS_RETURN_IF_ERROR(CheckOutputs(options));
  TS_RETURN_IF_ERROR(MakeDatabase(options));
  const bench::HeldSignals signals;
  std::string root = std::filesystem::absolute(options.directory).lexically_normal().string();
  while (root.size() > 1 && root.ends_with('/')) root.pop_back();
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const disk::Database> database,
                      disk::Database::Open(root));
  TS_ASSIGN_OR_RETURN(const bench::ScratchDirectory scratch,
                      bench::ScratchDirectory::In(std::filesystem::temp_directory_path().string()));
  HistoryHdb server(root, scratch.path() + "/hdb", signals);
  TS_RETURN_IF_ERROR(server.Start(options.query_threads));
  HistoryRun run(options, drop, server, *database, measured);
  return run.RunAll(queries);
}

absl::Status WriteText(const std::string& path, const std::string& text) {
  TS_ASSIGN_OR_RETURN(File file, File::Create(path));
  return file.WriteAt(0, std::as_bytes(std::span(text)));
}

// Prints the tables, which may be of a run that failed, and writes them and the page to the
// directory.
absl::Status PrintTables(const HdbQueriesOptions& options, const QueriesRun& measured) {
  const std::string rounds = suite::RoundsPsv(measured.rounds);
  fmt::print("{}", rounds);
  std::string spread;
  if (measured.directories.size() > 1) {
    spread = suite::SpreadPsv(measured.rounds, measured.directories);
    fmt::print("\n{}", spread);
  }
  for (const suite::HistoryRound& round : measured.rounds) {
    const std::string warning = suite::WarningOf(round);
    if (!warning.empty()) fmt::print(stderr, "warning: {}\n", warning);
  }
  if (options.results.empty()) return absl::OkStatus();
  TS_RETURN_IF_ERROR(WriteText(options.results + "/queries.psv", rounds));
  const std::string page = options.results + "/queries.html";
  TS_RETURN_IF_ERROR(WriteText(page, QueriesPage(measured)));
  fmt::print(stderr, "{}\n", page);
  if (spread.empty()) return absl::OkStatus();
  return WriteText(options.results + "/directories.psv", spread);
}

void PrintDefinitions(const std::vector<const suite::HistoryQuery*>& queries) {
  for (const suite::HistoryQuery* query : queries) {
    fmt::print("{}{}: {}\n{}\n", query == queries.front() ? "" : "\n", query->name, query->words,
               query->text);
  }
}

int QueriesFailed(const absl::Status& status, int code) {
  fmt::print(stderr, "tickstack hdb queries: {}\n", Message(status));
  return code;
}

}  // namespace

void AddHdbQueriesOptions(CLI::App& command, HdbQueriesOptions& options) {
  command.add_option("directory", options.directory, "Database directory");
  command
      .add_option("--clients", options.clients,
                  "Numbers of clients that ask at the same time; a run for each")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 4096))
      ->default_str("1,10,100");
  command.add_option("--seconds", options.seconds, "Duration of each warm round")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  command
      .add_option("--only", options.only, "Names of queries, separated by commas (default: all)")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      .add_option("--seed", options.seed,
                  "Random seed; the same seed asks the same database the same questions")
      ->capture_default_str();
  command
      .add_option("--drop", options.drop,
                  "What to drop before cold rounds: machine (the whole page cache; needs root), "
                  "files (pages of the database's files), none, or auto (machine if allowed, else "
                  "files)")
      ->capture_default_str();
  command
      .add_option("--query-threads", options.query_threads,
                  "Query threads of the hdb (default: the hdb's)")
      ->check(CLI::Range(1, 1024));
  command.add_option("--results", options.results, "Directory for the tables and a page of them");
  command.add_option("--answers", options.answers,
                     "File for every client's question and answer, one JSON object per line");
  command.add_flag("--list", options.list, "Print the definitions of the queries and exit");
  command
      .add_option("--years", options.years,
                  "If the database has no days, generate this many years first")
      ->check(CLI::Range(1, 50));
  command.add_option("--symbols", options.symbols, "With --years: number of symbols")
      ->check(CLI::Range(1, 65'536))
      ->capture_default_str();
  command.add_option("--quotes", options.quotes, "With --years: quotes per day")
      ->check(CLI::Range(int64_t{1}, int64_t{3'000'000'000}))
      ->capture_default_str();
}

int RunHdbQueries(const HdbQueriesOptions& options) {
  const auto queries = ChosenQueries(options.only);
  if (!queries.ok()) return QueriesFailed(queries.status(), kQueriesWrongUsage);
  if (options.list) {
    PrintDefinitions(*queries);
    return 0;
  }
  if (options.directory.empty()) {
    return QueriesFailed(InvalidArgument("expected a database directory"), kQueriesWrongUsage);
  }
  const absl::StatusOr<bench::CacheDrop> drop = bench::ParseCacheDrop(options.drop);
  if (!drop.ok()) return QueriesFailed(drop.status(), kQueriesWrongUsage);
  QueriesRun measured{.database = options.directory,
                      .begin = FormatTimestamp(SystemClock::Instance().NowNs()).substr(0, 19),
                      .queries = *queries,
                      .seed = options.seed,
                      .seconds = options.seconds,
                      .query_threads = options.query_threads};
  absl::Status status = RunQueries(options, *drop, *queries, measured);
  if (!measured.rounds.empty()) {
    if (!status.ok()) measured.failure = Message(status);
    const absl::Status written = PrintTables(options, measured);
    if (status.ok()) status = written;
  }
  return status.ok() ? 0 : QueriesFailed(status, 1);
}

}  // namespace tickstack::cli
