// Measures queries of past days, over a database from `tickstack hdb generate`. It is mapped, and
// in the page cache after the first run of each query.
//
//   hdb_bench --days 12 --quotes 2000000 --symbols 8000 --threads 2
//
// Each line has the median of the runs, and the bound: the bytes that the query must read (for each
// row concerned, the columns that it names) at the rate at which as many threads only read the same
// files. A scan is also timed as a plain loop over the same mapping, alternating with the query.
//
// Answers are compared with slow definitions (past_days.h) before anything is timed.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "base/worker_pool.h"
#include "bench/measured_machine.h"
#include "bench/past_days.h"
#include "cli/hdb_generate.h"
#include "hdb/hdb.h"
#include "hdb/hdb_environment.h"
#include "query/query.h"

namespace tickstack::bench {
namespace {

struct Options {
  std::string database;  // Empty: one is created, and removed at the end.
  cli::HdbGenerateOptions generate;
  int threads = 2;
  int runs = 9;
};

constexpr size_t kResultBytesMax = size_t{8} << 30;
constexpr int64_t kFirstOfDayNs = (15 * 3'600 + 1'800) * kSecondNs;  // 15:30
constexpr int64_t kLastOfDayNs =
    (19 * 3'600 + 1'800) * kSecondNs - kSecondNs / 1'000;  // 19:29:59.999
constexpr std::string_view kHours = "time.time within 15:30:00.000 19:29:59.999";

double MedianMs(std::vector<int64_t> ns) {
  std::ranges::sort(ns);
  return static_cast<double>(ns[ns.size() / 2]) / 1e6;
}

bool Near(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max({std::abs(a), std::abs(b), 1e-9});
}

class Bench {
 public:
  Bench(const Options& options, std::string root)
      : options_(options),
        hdb_(std::move(root)),
        environment_(&hdb_, &SystemClock::Instance()),
        helpers_(static_cast<size_t>(options.threads - 1)) {}

  absl::Status Run();

 private:
  absl::StatusOr<Value> Ask(const std::string& text) {
    query::Limits limits;
    limits.max_result_bytes = kResultBytesMax;
    limits.workers = &helpers_;
    return query::Evaluate(text, environment_, limits);
  }
  Value Answer(const std::string& text) {
    absl::StatusOr<Value> answer = Ask(text);
    if (!answer.ok()) fmt::print(stderr, "{}: {}\n", text, Message(answer.status()));
    TS_CHECK(answer.ok());
    return *std::move(answer);
  }
  int64_t TimeNs(const std::string& text) {
    const int64_t begin_ns = MonotonicNs();
    const Value answer = Answer(text);
    return MonotonicNs() - begin_ns;
  }
  // Calls f(quotes) for all days, which the threads take in turn.
  template <typename F>
  void EachDay(F f) const {
    std::vector<std::thread> threads;
    const auto count = static_cast<size_t>(options_.threads);
    for (size_t thread = 0; thread < count; ++thread) {
      threads.emplace_back([&, thread] {
        for (size_t day = thread; day < days_->quotes().size(); day += count) {
          f(days_->quotes()[day], day);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  double ReadGigabytesPerSecond() const;
  void Line(std::string_view name, double ms, double bytes, std::string_view more = "") const;
  void Time(std::string_view name, const std::string& text, double bytes);
  void Scan(std::string_view name, const std::string& text, double bytes,
            const std::function<double()>& loop);
  void Scans();
  void Basket();
  void BestQuotes();
  void Aggregates();
  void LastByDate();
  void AsofJoin();

  const Options& options_;
  hdb::Hdb hdb_;
  hdb::HdbEnvironment environment_;
  WorkerPool helpers_;
  std::unique_ptr<PastDays> days_;
  double read_gigabytes_per_s_ = 0;
};

// Reads the columns of bids and returns the best rate of five.
double Bench::ReadGigabytesPerSecond() const {
  double best = 0;
  std::vector<uint64_t> sums(days_->quotes().size());
  for (int round = 0; round < 5; ++round) {
    const int64_t begin_ns = MonotonicNs();
    EachDay([&](const PastRows& quotes, size_t day) {
      const auto* const words = reinterpret_cast<const uint64_t*>(quotes.bid.data());
      sums[day] += std::accumulate(words, words + quotes.bid.size(), uint64_t{0});
    });
    const auto bytes = static_cast<double>(days_->quote_rows() * sizeof(double));
    best = std::max(best, bytes / static_cast<double>(MonotonicNs() - begin_ns));
  }
  // Uses the sums, so that the reads are not optimized away.
  TS_CHECK(std::accumulate(sums.begin(), sums.end(), uint64_t{0}) != 1);
  return best;
}

void Bench::Line(std::string_view name, double ms, double bytes, std::string_view more) const {
  fmt::print("{:<44} {:>9.2f} ms, {:>7.1f} MB at {:>5.1f} GB/s, bound {:>7.2f} ms{}\n", name, ms,
             bytes / 1e6, bytes / ms / 1e6, bytes / read_gigabytes_per_s_ / 1e6, more);
  std::fflush(stdout);
}

void Bench::Time(std::string_view name, const std::string& text, double bytes) {
  const double first_ms = static_cast<double>(TimeNs(text)) / 1e6;
  std::vector<int64_t> ns;
  for (int run = 0; run < options_.runs; ++run) ns.push_back(TimeNs(text));
  Line(name, MedianMs(ns), bytes, fmt::format(", first {:.2f} ms", first_ms));
}

// Times a query and `loop`, which computes the same, alternately.
void Bench::Scan(std::string_view name, const std::string& text, double bytes,
                 const std::function<double()>& loop) {
  const Value answer = Answer(text);
  const double found = answer.is_atom_of(Type::kLong) ? static_cast<double>(answer.as<int64_t>())
                                                      : answer.as<double>();
  const double expected = loop();
  if (!Near(found, expected)) fmt::print(stderr, "{}: {}, expected {}\n", text, found, expected);
  TS_CHECK(Near(found, expected));
  std::vector<int64_t> query_ns, loop_ns;
  double unused = 0;
  for (int run = 0; run < 3 * options_.runs; ++run) {
    query_ns.push_back(TimeNs(text));
    const int64_t begin_ns = MonotonicNs();
    unused += loop();
    loop_ns.push_back(MonotonicNs() - begin_ns);
  }
  TS_CHECK(std::isfinite(unused));
  const double ms = MedianMs(query_ns), loop_ms = MedianMs(loop_ns);
  Line(name, ms, bytes,
       fmt::format("; loop in C {:.2f} ms: {:.0f} % of its rate", loop_ms, 100 * loop_ms / ms));
}

void Bench::Scans() {
  const auto rows = static_cast<double>(days_->quote_rows());
  std::vector<double> maxima(days_->quotes().size());
  Scan("max bid", "exec max bid from quote", rows * 8, [&] {
    EachDay([&](const PastRows& quotes, size_t day) {
      double max = -INFINITY;
      for (const double bid : quotes.bid) max = bid > max ? bid : max;
      maxima[day] = max;
    });
    return *std::ranges::max_element(maxima);
  });
  // Limits that all rows pass, some rows, and hardly any.
  for (const double limit : {0.0, std::floor(maxima[0] / 8), std::floor(maxima[0] / 2)}) {
    std::vector<int64_t> sums(days_->quotes().size());
    const std::string condition = fmt::format("bid>{:.1f}", limit);
    Scan(fmt::format("sum bsize where {}", condition),
         fmt::format("exec sum bsize from quote where {}", condition), rows * 16, [&, limit] {
           EachDay([&](const PastRows& quotes, size_t day) {
             int64_t sum = 0;
             for (size_t row = 0; row < quotes.bid.size(); ++row) {
               sum += quotes.bid[row] > limit ? quotes.bsize[row] : 0;
             }
             sums[day] = sum;
           });
           return static_cast<double>(std::accumulate(sums.begin(), sums.end(), int64_t{0}));
         });
  }
}

void Bench::Basket() {
  const std::vector<SymbolId> basket = days_->Basket();
  std::string names;
  for (const SymbolId id : basket) names += "`" + days_->NameOf(id);
  const std::string text =
      fmt::format("select bsize wavg bid by sym from quote where date within {} {},sym in {},{}",
                  FormatDate(days_->quotes().front().date), FormatDate(days_->quotes().back().date),
                  names, kHours);
  const auto expected = days_->BasketSums(basket, kFirstOfDayNs, kLastOfDayNs);
  const Value answer = Answer(text);
  TS_CHECK(answer.is_keyed_table());
  const Value& sym = answer.keys().columns()[0];
  TS_CHECK(sym.count() == expected.size());
  double rows = 0;
  for (size_t i = 0; i < sym.count(); ++i) {
    const SymbolSums& sums = expected.at(*days_->symbols().Find(sym.symbols()[i]));
    TS_CHECK(Near(answer.values().columns()[0].span<double>()[i], sums.products / sums.weights));
    rows += sums.count;
  }
  Time(fmt::format("weighted bid, {} symbols, 4 hours, all days", basket.size()), text, rows * 16);
}

void Bench::BestQuotes() {
  const PastRows& quotes = days_->quotes()[days_->quotes().size() / 2];
  const std::string text = fmt::format(
      "select time,sym,bid,ask from nbbo[`sym`ex`bid`ask;select from quote where date={}]",
      FormatDate(quotes.date));
  const std::vector<PastDays::Best> expected = PastDays::BestQuotes(quotes);
  const Value answer = Answer(text);
  const auto bid = answer.FindColumn("bid")->span<double>();
  const auto ask = answer.FindColumn("ask")->span<double>();
  TS_CHECK(bid.size() == expected.size());
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  for (size_t row = 0; row < bid.size(); ++row) {
    TS_CHECK(same(bid[row], expected[row].bid) && same(ask[row], expected[row].ask));
  }
  // Read: time, symbol, exchange, bid and ask; written: time, bid, ask and the name.
  Time("NBBO of all symbols, one day", text, static_cast<double>(bid.size()) * (33 + 30));
}

void Bench::Aggregates() {
  const auto rows = static_cast<double>(days_->quote_rows());
  const std::string text = "select a:avg bid,d:dev bid,w:bsize wavg bid by sym from quote";
  const auto expected = days_->SumsBySymbol();
  const Value answer = Answer(text);
  const Value& sym = answer.keys().columns()[0];
  const auto column = [&](const char* name) {
    return answer.values().FindColumn(name)->span<double>();
  };
  const auto a = column("a"), d = column("d"), w = column("w");
  TS_CHECK(sym.count() == expected.size());
  for (size_t i = 0; i < sym.count(); ++i) {
    const SymbolSums& sums = expected.at(*days_->symbols().Find(sym.symbols()[i]));
    TS_CHECK(Near(a[i], sums.sum / sums.count) && Near(w[i], sums.products / sums.weights));
    TS_CHECK(std::abs(d[i] - std::sqrt(sums.squares / sums.count)) <= 1e-7 * a[i]);
  }
  Time("avg, dev, wavg by sym, all days", text, rows * 16);
  Time("count, avg by date", "select n:count i,avg bid by date from quote", rows * 8);
  Time("max by date,sym", "select max bid by date,sym from quote", rows * 8);
}

void Bench::LastByDate() {
  const std::string text = "select by date from quote";
  const Value answer = Answer(text);
  const auto bid = answer.values().FindColumn("bid")->span<double>();
  TS_CHECK(bid.size() == days_->quotes().size());
  for (size_t day = 0; day < bid.size(); ++day)
    TS_CHECK(bid[day] == days_->quotes()[day].bid.back());
  Time("last row by date", text, static_cast<double>(bid.size()) * 50);
}

void Bench::AsofJoin() {
  const size_t day = days_->quotes().size() / 2;
  const PastRows &quotes = days_->quotes()[day], &trades = days_->trades()[day];
  const std::string date = FormatDate(quotes.date);
  const std::string text = fmt::format(
      "select time,sym,price,bid,ask from aj[`sym`time;select from trade where date={};"
      "select from quote where date={}]",
      date, date);
  const std::vector<int64_t> expected = PastDays::Prevailing(trades, quotes);
  const Value answer = Answer(text);
  const auto bid = answer.FindColumn("bid")->span<double>();
  TS_CHECK(bid.size() == expected.size());
  for (size_t row = 0; row < bid.size(); ++row) {
    TS_CHECK(expected[row] < 0 ? std::isnan(bid[row])
                               : bid[row] == quotes.bid[static_cast<size_t>(expected[row])]);
  }
  const auto rows = static_cast<double>(bid.size());
  Time("as-of join of all trades, one day", text,
       static_cast<double>(quotes.time.size()) * 8 + rows * (8 + 16 + 8 + 46));
}

absl::Status Bench::Run() {
  TS_RETURN_IF_ERROR(hdb_.Reload());
  TS_ASSIGN_OR_RETURN(days_, PastDays::Open(hdb_.root()));
  read_gigabytes_per_s_ = ReadGigabytesPerSecond();
  fmt::print("{}\n{} days, {} quotes, {} symbols, {} threads; they read {:.1f} GB/s\n",
             MachineText(), days_->quotes().size(), days_->quote_rows(), days_->symbols().size(),
             options_.threads, read_gigabytes_per_s_);
  Scans();
  Basket();
  BestQuotes();
  Aggregates();
  LastByDate();
  AsofJoin();
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  Options options;
  options.generate.days = 12;
  options.generate.quotes = 2'000'000;
  options.generate.symbols = 8'000;
  CLI::App app("What queries of past days cost");
  app.add_option("--db", options.database, "A generated database (default: one that is made)");
  app.add_option("--days", options.generate.days)
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  app.add_option("--quotes", options.generate.quotes, "A day")->capture_default_str();
  app.add_option("--symbols", options.generate.symbols)->capture_default_str();
  app.add_option("--compression", options.generate.compression)->capture_default_str();
  app.add_option("--threads", options.threads)->capture_default_str()->check(CLI::Range(1, 1'024));
  app.add_option("--runs", options.runs, "Of each query")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000));
  CLI11_PARSE(app, argc, argv);
  InitLogging("hdb_bench", LogLevel::kOff);
  std::string made;
  if (options.database.empty()) {
    made = "hdb_bench.XXXXXX";
    TS_CHECK(::mkdtemp(made.data()) != nullptr);
    options.generate.directory = made;
    if (cli::RunHdbGenerate(options.generate) != 0) return 1;
  }
  const absl::Status status = Bench(options, made.empty() ? options.database : made).Run();
  if (!made.empty()) std::filesystem::remove_all(made);
  if (status.ok()) return 0;
  fmt::print(stderr, "hdb_bench: {}\n", Message(status));
  return 1;
}

}  // namespace
}  // namespace tickstack::bench

int main(int argc, char** argv) { return tickstack::bench::Main(argc, argv); }
