// tier_bench: measures what it costs to keep a table outside of DRAM.
//
//   tier_bench [--workload NAME,...] [--dir DIR] [--rounds N] [--rows N] [--growth-rows N] [--json]
//
//   ingest     quote batches into a warm table, and scans of its 8-byte columns, in each place in
//              turn: rows/s and GB/s, each as a ratio to DRAM with pages of the same size
//   fresh      the same into a newly opened tier with a thread that touches memory in advance; and
//              the DRAM that the tier holds then
//   growth     cost per row and the longest append while a table grows, by tenths
//   streaming  rows written past the caches, or through them
//   reopen     tables of 5, 20 and 50 million rows in a persistent tier, written by a process that
//              exits abruptly: the cost of commits, and the time that the next process takes to
//              restore them
//
// By default all of them run. Every ratio is taken within a round, in which the places take turns,
// and the median over the rounds is printed. The bound beside a rate: an append reads a batch from
// the caches near the core, and writes a row's bytes of columns and index to memory; it cannot
// exceed the rate at which a thread copies memory.

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "bench/day_batches.h"
#include "bench/measured_machine.h"
#include "bench/places.h"
#include "mem/persistent_tier.h"
#include "table/durable_tables.h"
#include "table/table.h"

namespace tickstack::bench {
namespace {

using Json = nlohmann::ordered_json;

// The packed width of a quote row: time 8, sym 4, bid 8, ask 8, bsize 8, asize 8, mode 1, ex 1.
constexpr double kQuoteBytes = 46;
// Bytes for a row, its index and waste from rounding.
constexpr size_t kRoomBytesPerRow = 64;
constexpr size_t kTouchAheadBytes = size_t{64} << 20;
constexpr int64_t kCommitNs = kNsPerSecond / 10;  // An RDB's default.
constexpr const char* kPersistentFile = "tier_bench.tier";

struct Settings {
  std::string workloads = "ingest,fresh,growth,streaming,reopen";
  std::string directory = ".";
  size_t rounds = 5;
  size_t rows = 10'000'000;
  size_t growth_rows = 100'000'000;
  bool json = false;
};

// Any failure ends the bench, because nothing can be measured then.
void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "tier_bench: %s\n", std::string(Message(status)).c_str());
  std::exit(1);
}
template <typename T>
T Need(absl::StatusOr<T> value) {
  Check(value.status());
  return *std::move(value);
}

double Median(std::vector<double> values) {
  TS_CHECK(!values.empty());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

double Seconds(int64_t ns) { return static_cast<double>(ns) / 1e9; }

size_t Room(size_t rows) { return rows * kRoomBytesPerRow + (size_t{64} << 20); }

DayBatches Quotes(size_t rows_per_batch) {
  DayBatchOptions options;
  options.rows_per_batch = rows_per_batch;
  return {DefaultSchemas()[1], options};
}

// Wall-clock time, and processor time of this thread. The difference is time spent waiting for a
// disk, or for other threads on the processor.
struct Spent {
  int64_t wall_ns = 0;
  int64_t cpu_ns = 0;

  Spent& operator+=(const Spent& other) {
    wall_ns += other.wall_ns;
    cpu_ns += other.cpu_ns;
    return *this;
  }
};

class Stopwatch {
 public:
  Spent Read() const {
    return {MonotonicNs() - begin_.wall_ns, ThreadProcessorNs() - begin_.cpu_ns};
  }

 private:
  Spent begin_{MonotonicNs(), ThreadProcessorNs()};
};

// A table of quotes that is completely in one tier.
class Quote {
 public:
  explicit Quote(mem::Tier* tier) {
    TablePlacement placement;
    placement.columns = tier;
    table_ = *Table::Create(DefaultSchemas()[1], &symbols_, placement);
  }

  void Append(const BatchView& batch) { Check(table_->Append(batch)); }
  // Returns the duration, without that of making the batches.
  Spent Fill(DayBatches& batches, size_t rows) {
    Spent spent;
    while (table_->rows() < rows) {
      const BatchView batch = batches.Next();
      const Stopwatch watch;
      Append(batch);
      spent += watch.Read();
    }
    return spent;
  }

  const Table& table() const { return *table_; }
  Table& table() { return *table_; }
  const SymbolTable& symbols() const { return symbols_; }

 private:
  SymbolTable symbols_;
  std::shared_ptr<Table> table_;
};

// Bytes per row of the scanned columns of long integers: time, bsize, asize.
constexpr double kScannedBytesPerRow = 24;
Spent Scan(const Table& table) {
  const Snapshot snapshot = table.TakeSnapshot();
  int64_t times = 0, sizes = 0;
  const Stopwatch watch;
  for (const char* name : {"time", "bsize", "asize"}) {
    const auto column = static_cast<size_t>(table.schema().Find(name));
    int64_t& sum = column == 0 ? times : sizes;
    for (size_t chunk = 0; chunk < snapshot.chunks(); ++chunk) {
      for (const int64_t value : snapshot.Chunk<int64_t>(column, chunk)) sum += value;
    }
  }
  const Spent spent = watch.Read();
  // The times are open_ns = 0 and 1 ns per row, so their sum is known; sizes are from 1 to 1,000.
  const auto rows = static_cast<int64_t>(snapshot.rows());
  TS_CHECK(times == rows * (rows - 1) / 2 && sizes >= 2 * rows && sizes <= 2000 * rows);
  return spent;
}

// The results of a workload, by place and figure, with one value per round.
class Rounds {
 public:
  void Add(const Place& place, const std::string& figure, double value) {
    values_[place.name][figure].push_back(value);
  }
  // Adds `amount` per second, by wall-clock time as `figure`, by processor time as `figure` +
  // "_cpu".
  void AddRate(const Place& place, const std::string& figure, double amount, const Spent& spent) {
    Add(place, figure, amount / Seconds(spent.wall_ns));
    Add(place, figure + "_cpu", amount / Seconds(spent.cpu_ns));
  }
  double MedianOf(const Place& place, const std::string& figure) const {
    return Median(values_.at(place.name).at(figure));
  }
  // Returns the median over the rounds of this place's value divided by that of its DRAM
  // counterpart.
  double RatioOf(const Place& place, const std::string& figure) const {
    const std::vector<double>& own = values_.at(place.name).at(figure);
    const std::vector<double>& like = values_.at(place.like).at(figure);
    std::vector<double> ratios;
    for (size_t i = 0; i < own.size(); ++i) ratios.push_back(own[i] / like[i]);
    return Median(ratios);
  }

 private:
  std::map<std::string, std::map<std::string, std::vector<double>>> values_;
};

// Changes the order in each round, so that no place always follows the same one.
void EachInTurn(const std::vector<Place>& places, size_t round,
                const std::function<void(size_t)>& visit) {
  for (size_t i = 0; i < places.size(); ++i) visit((i + round) % places.size());
}

Json Ingest(const Settings& settings, const std::vector<Place>& places, double copy_gb_per_s) {
  DayBatches batches = Quotes(2400);
  std::vector<std::unique_ptr<mem::Tier>> tiers;
  for (const Place& place : places) tiers.push_back(Open(place, Room(settings.rows)));
  Rounds rounds;
  double bytes_per_row = 0;
  // An extra first round touches the memory.
  for (size_t round = 0; round <= settings.rounds; ++round) {
    std::vector<std::unique_ptr<Quote>> quotes(places.size());
    EachInTurn(places, round, [&](size_t i) {
      quotes[i] = std::make_unique<Quote>(tiers[i].get());
      batches.Restart();
      const Spent spent = quotes[i]->Fill(batches, settings.rows);
      const auto rows = static_cast<double>(quotes[i]->table().rows());
      if (round > 0) rounds.AddRate(places[i], "ingest", rows, spent);
      bytes_per_row = static_cast<double>(quotes[i]->table().bytes()) / rows;
    });
    EachInTurn(places, round, [&](size_t i) {
      const auto gigabytes =
          static_cast<double>(quotes[i]->table().rows()) * kScannedBytesPerRow / 1e9;
      const Spent spent = Scan(quotes[i]->table());
      if (round > 0) rounds.AddRate(places[i], "scan", gigabytes, spent);
    });
  }
  Json found;
  found["rows"] = settings.rows;
  found["bytes_per_row"] = bytes_per_row;
  found["bytes_per_row_goal"] = 1.25 * kQuoteBytes;
  found["bound_rows_per_s"] = copy_gb_per_s * 1e9 / bytes_per_row;
  for (size_t i = 0; i < places.size(); ++i) {
    const mem::TierStats stats = tiers[i]->Stats();
    found["places"].push_back({{"place", places[i].name},
                               {"filesystem", stats.filesystem},
                               {"dax", stats.dax},
                               {"streaming", stats.streaming},
                               {"like", places[i].like},
                               {"ingest_rows_per_s", rounds.MedianOf(places[i], "ingest")},
                               {"ingest_ratio", rounds.RatioOf(places[i], "ingest")},
                               {"ingest_cpu_ratio", rounds.RatioOf(places[i], "ingest_cpu")},
                               {"scan_gb_per_s", rounds.MedianOf(places[i], "scan")},
                               {"scan_ratio", rounds.RatioOf(places[i], "scan")},
                               {"scan_cpu_ratio", rounds.RatioOf(places[i], "scan_cpu")}});
  }
  return found;
}

Json Fresh(const Settings& settings, const std::vector<Place>& places) {
  DayBatches batches = Quotes(2400);
  Rounds rounds;
  for (size_t round = 0; round < settings.rounds; ++round) {
    EachInTurn(places, round, [&](size_t i) {
      const auto anonymous_before = static_cast<double>(AnonymousBytes());
      const int64_t begin_ns = MonotonicNs();
      const std::unique_ptr<mem::Tier> tier =
          Open(places[i], Room(settings.rows), kTouchAheadBytes);
      rounds.Add(places[i], "open", Seconds(MonotonicNs() - begin_ns));
      Quote quote(tier.get());
      const Spent spent = quote.Fill(batches, settings.rows);
      rounds.AddRate(places[i], "ingest", static_cast<double>(quote.table().rows()), spent);
      rounds.Add(places[i], "anonymous", static_cast<double>(AnonymousBytes()) - anonymous_before);
      rounds.Add(places[i], "resident", static_cast<double>(tier->ResidentBytes()));
    });
  }
  Json found;
  found["rows"] = settings.rows;
  for (const Place& place : places) {
    found["places"].push_back({{"place", place.name},
                               {"like", place.like},
                               {"open_s", rounds.MedianOf(place, "open")},
                               {"ingest_rows_per_s", rounds.MedianOf(place, "ingest")},
                               {"ingest_ratio", rounds.RatioOf(place, "ingest")},
                               {"ingest_cpu_ratio", rounds.RatioOf(place, "ingest_cpu")},
                               {"anonymous_bytes", rounds.MedianOf(place, "anonymous")},
                               {"anonymous_ratio", rounds.RatioOf(place, "anonymous")},
                               {"tier_resident_bytes", rounds.MedianOf(place, "resident")}});
  }
  return found;
}

// One table that grows from a tenth of the rows to all of them.
Json GrowthAt(const Settings& settings, const Place& place) {
  DayBatches batches = Quotes(2400);
  const std::unique_ptr<mem::Tier> tier = Open(place, Room(settings.growth_rows), kTouchAheadBytes);
  Quote quote(tier.get());
  Json found = {{"place", place.name}};
  std::vector<double> means, cpu_means, medians;
  double longest_ms = 0, longest_cpu_ms = 0;
  for (size_t tenth = 1; tenth <= 10; ++tenth) {
    const size_t first_row = quote.table().rows();
    std::vector<double> appends_ns;
    Spent spent;
    double step_longest_ms = 0;
    while (quote.table().rows() < settings.growth_rows / 10 * tenth) {
      const BatchView batch = batches.Next();
      const Stopwatch watch;
      quote.Append(batch);
      const Spent append = watch.Read();
      spent += append;
      appends_ns.push_back(static_cast<double>(append.wall_ns));
      step_longest_ms = std::max(step_longest_ms, static_cast<double>(append.wall_ns) / 1e6);
      longest_cpu_ms = std::max(longest_cpu_ms, static_cast<double>(append.cpu_ns) / 1e6);
    }
    longest_ms = std::max(longest_ms, step_longest_ms);
    const auto rows = static_cast<double>(quote.table().rows() - first_row);
    means.push_back(static_cast<double>(spent.wall_ns) / rows);
    cpu_means.push_back(static_cast<double>(spent.cpu_ns) / rows);
    medians.push_back(Median(appends_ns) / 2400);
    found["steps"].push_back({{"to_rows", quote.table().rows()},
                              {"ns_per_row", means.back()},
                              {"cpu_ns_per_row", cpu_means.back()},
                              {"ns_per_row_median", medians.back()},
                              {"longest_append_ms", step_longest_ms}});
  }
  // The first step is the growth to a tenth; only the following ones are compared.
  const auto spread = [](const std::vector<double>& steps) {
    const auto [low, high] = std::minmax_element(steps.begin() + 1, steps.end());
    return *high / *low - 1;
  };
  found["spread"] = spread(means);
  found["cpu_spread"] = spread(cpu_means);
  found["spread_of_medians"] = spread(medians);
  found["longest_append_ms"] = longest_ms;
  found["longest_append_cpu_ms"] = longest_cpu_ms;
  found["bytes_per_row"] =
      static_cast<double>(quote.table().bytes()) / static_cast<double>(quote.table().rows());
  return found;
}

Json Growth(const Settings& settings, const std::vector<Place>& places) {
  Json found;
  found["rows"] = settings.growth_rows;
  for (const Place& place : places) {
    if (place.name == "dram-4k") continue;  // dram shows the same with fewer page faults.
    WarmMemory(Room(settings.growth_rows));
    found["places"].push_back(GrowthAt(settings, place));
  }
  return found;
}

Json StreamingStores(const Settings& settings, const std::vector<Place>& places) {
  Json found;
  for (const size_t rows_per_batch : {size_t{2400}, size_t{48'000}}) {
    DayBatches batches = Quotes(rows_per_batch);
    Rounds rounds;
    std::vector<std::unique_ptr<mem::Tier>> through, past;
    std::vector<bool> automatic;
    for (const Place& place : places) {
      Place variant = place;
      automatic.push_back(Open(place, Room(settings.rows))->Stats().streaming);
      variant.options.streaming = mem::Streaming::kOff;
      through.push_back(Open(variant, Room(settings.rows)));
      variant.options.streaming = mem::Streaming::kOn;
      past.push_back(Open(variant, Room(settings.rows)));
    }
    for (size_t round = 0; round <= settings.rounds; ++round) {
      EachInTurn(places, round, [&](size_t i) {
        for (const bool on : {round % 2 == 0, round % 2 != 0}) {
          Quote quote((on ? past : through)[i].get());
          const Spent spent = quote.Fill(batches, settings.rows);
          if (round > 0) {
            rounds.AddRate(places[i], on ? "past" : "through",
                           static_cast<double>(quote.table().rows()), spent);
          }
        }
      });
    }
    for (size_t i = 0; i < places.size(); ++i) {
      const double on = rounds.MedianOf(places[i], "past");
      const double off = rounds.MedianOf(places[i], "through");
      found["places"].push_back({{"place", places[i].name},
                                 {"rows_per_batch", rows_per_batch},
                                 {"through_caches_rows_per_s", off},
                                 {"past_caches_rows_per_s", on},
                                 {"ratio", on / off},
                                 {"automatic", static_cast<bool>(automatic[i])}});
    }
  }
  return found;
}

// What the writing process reports to the one that waits for it.
struct Written {
  double seconds;
  double cpu_seconds;
  size_t rows;
  mem::PersistentTierStats stats;
};

// Allocated in memory that a forked process shares.
Written* SharedWritten() {
  static auto* const written = static_cast<Written*>(
      ::mmap(nullptr, sizeof(Written), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  TS_CHECK(written != MAP_FAILED);
  return written;
}

std::unique_ptr<mem::PersistentTier> OpenPersistent(const Place& place, size_t capacity_bytes) {
  mem::TierOptions options = place.options;
  options.kind = mem::TierKind::kPersistent;
  options.file = kPersistentFile;
  options.capacity_bytes = capacity_bytes;
  options.touch_ahead_bytes = kTouchAheadBytes;
  return Need(mem::PersistentTier::Open(options));
}

// Takes `rows` quotes and commits every 100 ms, as an RDB does.
[[noreturn]] void WriteDurably(const Place& place, size_t rows) {
  DayBatches batches = Quotes(2400);
  const std::unique_ptr<mem::PersistentTier> tier = OpenPersistent(place, Room(rows));
  DurableTables store(tier.get());
  Quote quote(tier.get());
  Table* const tables[] = {&quote.table()};
  const Stopwatch watch;
  int64_t committed_ns = MonotonicNs();
  while (quote.table().rows() < rows) {
    quote.Append(batches.Next());
    const bool done = quote.table().rows() >= rows;
    if (!done && MonotonicNs() - committed_ns < kCommitNs) continue;
    Check(store.Commit(quote.symbols(), tables, {}));
    committed_ns = MonotonicNs();
  }
  const Spent spent = watch.Read();
  *SharedWritten() = {Seconds(spent.wall_ns), Seconds(spent.cpu_ns), quote.table().rows(),
                      tier->CommitStats()};
  // Exits without destructors, like a killed process: nothing is cleaned up after the last commit.
  ::_exit(0);
}

Json ReopenAt(const Settings& settings, const Place& place, size_t rows) {
  WarmMemory(Room(rows));
  SharedWritten();  // Before the fork.
  const pid_t child = ::fork();
  TS_CHECK(child >= 0);
  if (child == 0) WriteDurably(place, rows);
  int status = 0;
  TS_CHECK(::waitpid(child, &status, 0) == child && status == 0);
  const Written written = *SharedWritten();
  std::vector<double> seconds, cpu_seconds;
  for (size_t round = 0; round < settings.rounds; ++round) {
    const int64_t begin_ns = MonotonicNs();
    const std::clock_t begin_cpu = std::clock();  // Counts all threads.
    const std::unique_ptr<mem::PersistentTier> tier = OpenPersistent(place, Room(rows));
    DurableTables store(tier.get());
    SymbolTable symbols;
    const DurableTables::Found found = Need(store.Load(symbols, {}));
    seconds.push_back(Seconds(MonotonicNs() - begin_ns));
    cpu_seconds.push_back(static_cast<double>(std::clock() - begin_cpu) / CLOCKS_PER_SEC);
    TS_CHECK(found.tables.size() == 1 && found.tables[0]->rows() == written.rows);
    Scan(*found.tables[0]);  // Checks what it reads.
  }
  std::filesystem::remove(std::filesystem::path(place.options.path) / kPersistentFile);
  const auto commits = static_cast<double>(written.stats.commits);
  return {{"place", place.name},
          {"rows", written.rows},
          {"reopen_s", Median(seconds)},
          {"reopen_s_max", *std::ranges::max_element(seconds)},
          {"reopen_cpu_s", Median(cpu_seconds)},
          {"write_rows_per_s", static_cast<double>(written.rows) / written.seconds},
          {"write_cpu_ns_per_row", written.cpu_seconds * 1e9 / static_cast<double>(written.rows)},
          {"commits", written.stats.commits},
          {"commit_ms", static_cast<double>(written.stats.commit_ns) / 1e6 / commits},
          {"commit_ms_max", static_cast<double>(written.stats.commit_ns_max) / 1e6},
          {"msync", written.stats.msync}};
}

Json Reopen(const Settings& settings, const std::vector<Place>& places) {
  Json found;
  for (const Place& place : places) {
    if (place.options.kind != mem::TierKind::kFilesystem) continue;
    for (const size_t rows : std::initializer_list<size_t>{5'000'000, 20'000'000, 50'000'000}) {
      found["places"].push_back(ReopenAt(settings, place, rows));
    }
  }
  return found;
}

// Prints a list of objects with the same keys as a text table.
void PrintRows(const Json& rows) {
  std::vector<size_t> widths;
  std::vector<std::vector<std::string>> lines(1);
  for (const auto& [key, value] : rows[0].items()) {
    if (!value.is_structured()) lines[0].push_back(key);
  }
  for (const Json& row : rows) {
    std::vector<std::string> line;
    for (const std::string& key : lines[0]) {
      const Json& value = row[key];
      if (value.is_number_float()) {
        const double number = value.get<double>();
        line.push_back(number >= 1000 ? fmt::format("{:.0f}", number)
                                      : fmt::format("{:.3f}", number));
      } else {
        line.push_back(value.is_string() ? value.get<std::string>() : value.dump());
      }
    }
    lines.push_back(line);
  }
  for (const auto& line : lines) {
    widths.resize(line.size());
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  for (const auto& line : lines) {
    std::string text;
    for (size_t i = 0; i < line.size(); ++i) text += fmt::format("{:>{}}  ", line[i], widths[i]);
    std::printf("%s\n", text.c_str());
  }
}

void Print(const std::string& workload, const Json& found) {
  std::printf("\n== %s\n", workload.c_str());
  for (const auto& [key, value] : found.items()) {
    if (!value.is_structured()) std::printf("%s %s\n", key.c_str(), value.dump().c_str());
  }
  if (!found.contains("places")) return;
  PrintRows(found["places"]);
  for (const Json& place : found["places"]) {
    if (!place.contains("steps")) continue;
    std::printf("-- %s\n", place["place"].get<std::string>().c_str());
    PrintRows(place["steps"]);
  }
}

int Main(int argc, char** argv) {
  Settings settings;
  CLI::App app("What it costs to keep a table somewhere else than in DRAM.");
  app.add_option("--workload", settings.workloads, "Some of them, a comma between")
      ->capture_default_str();
  app.add_option("--dir", settings.directory, "A folder on the disk to measure")
      ->capture_default_str()
      ->check(CLI::ExistingDirectory);
  app.add_option("--rounds", settings.rounds, "Turns of the places")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--rows", settings.rows, "Quotes a table")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--growth-rows", settings.growth_rows, "Quotes at the end of the growth")
      ->capture_default_str()
      ->check(CLI::Range(size_t{24'000}, size_t{4'000'000'000}));
  app.add_flag("--json", settings.json, "One JSON object on standard output");
  CLI11_PARSE(app, argc, argv);

  // A tier on a disk logs a warning each time that it opens.
  InitLogging("tier_bench", LogLevel::kError);
  const HugeTmpfs huge_tmpfs;  // First: before any thread.
  const std::vector<Place> places = Places(huge_tmpfs, settings.directory);
  Json report;
  report["machine"] = MachineText();
  report["compiler"] = __VERSION__;
#ifndef NDEBUG
  report["warning"] = "a debug build; these figures mean nothing";
#endif
  if (huge_tmpfs.path().empty()) report["tmpfs-huge"] = "not measured: " + huge_tmpfs.refusal();
  WarmMemory(places.size() * Room(settings.rows));
  const double copy_gb_per_s = CopyGigabytesPerSecond();
  report["copy_gb_per_s"] = copy_gb_per_s;

  const std::vector<std::pair<std::string, std::function<Json()>>> known = {
      {"ingest", [&] { return Ingest(settings, places, copy_gb_per_s); }},
      {"fresh", [&] { return Fresh(settings, places); }},
      {"growth", [&] { return Growth(settings, places); }},
      {"streaming", [&] { return StreamingStores(settings, places); }},
      {"reopen", [&] { return Reopen(settings, places); }},
  };
  if (!settings.json) {
    for (const auto& [key, value] : report.items()) {
      std::printf("%s: %s\n", key.c_str(),
                  value.is_string() ? value.get<std::string>().c_str() : value.dump().c_str());
    }
  }
  std::vector<std::string> wanted = CLI::detail::split(settings.workloads, ',');
  for (const std::string& name : wanted) {
    const auto found =
        std::ranges::find(known, name, &std::pair<std::string, std::function<Json()>>::first);
    if (found == known.end()) {
      std::fprintf(stderr, "unknown workload '%s'\n", name.c_str());
      return 2;
    }
    report[name] = found->second();
    if (!settings.json) Print(name, report[name]);
  }
  if (settings.json) std::printf("%s\n", report.dump(2).c_str());
  return 0;
}

}  // namespace
}  // namespace tickstack::bench

int main(int argc, char** argv) { return tickstack::bench::Main(argc, argv); }
