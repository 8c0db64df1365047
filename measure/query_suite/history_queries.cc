#include "measure/query_suite/history_queries.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <utility>

#include "base/check.h"
#include "base/time.h"

namespace tickstack::measure::query_suite {
namespace {

constexpr size_t kDaysOfYear = 261;  // Weekdays.
constexpr size_t kDaysOfBasket = 6;
constexpr int64_t kIntervalsNs = 100 * 60 * kNsPerSecond;  // 100 minutes.

// The text for any number of days: which of them, the subject says.
constexpr std::string_view kAverageBid =
    "select vwab:bsize wavg bid by sym from quote where date within ({from};{to}),sym in {symbols}";

constexpr std::array kHistoryQueries = {
    HistoryQuery{.name = "year_high_bid",
                 .words = "highest bid of a year, for 1 % of the symbols",
                 .text = "select high:max bid by sym from quote where date within ({from};{to}),"
                         "sym in {symbols}",
                 .days = kDaysOfYear,
                 .symbols_share = 100},
    HistoryQuery{.name = "vwab_1_day",
                 .words = "volume-weighted average bid of a day, for 1 % of the symbols",
                 .text = kAverageBid,
                 .symbols_share = 100},
    HistoryQuery{.name = "vwab_1_day_overlap",
                 .words = "the same; all clients ask about one day and its 1 %",
                 .text = kAverageBid,
                 .symbols_share = 100,
                 .overlap = true},
    HistoryQuery{.name = "vwab_12_days",
                 .words = "volume-weighted average bid of 12 days, for 1 % of the symbols",
                 .text = kAverageBid,
                 .days = 12,
                 .symbols_share = 100},
    HistoryQuery{.name = "vwab_12_days_overlap",
                 .words = "the same; all clients ask about the same days and 1 %",
                 .text = kAverageBid,
                 .days = 12,
                 .symbols_share = 100,
                 .overlap = true},
    HistoryQuery{.name = "nbbo",
                 .words =
                     "best bid and offer over all exchanges after each quote of a day, for 1 % "
                     "of the symbols",
                 .text = "nbbo[`sym`ex`bid`ask;select time,sym,ex,bid,ask from quote where "
                         "date={from},sym in {symbols}]",
                 .symbols_share = 100},
    HistoryQuery{.name = "market_snapshot",
                 .words = "quote and trade that prevailed at a moment, for 10 % of the symbols",
                 .text =
                     "aj[`sym`time;aj[`sym`time;([]sym:{symbols};time:{from}+{begin});\n"
                     "  select sym,time,bid,ask,bsize,asize from quote where date={from},sym in "
                     "{symbols}];\n"
                     "  select sym,time,price,size from trade where date={from},sym in "
                     "{symbols}]",
                 .symbols_share = 10},
    HistoryQuery{
        .name = "theoretical_pnl",
        .words =
            "profit of ten trades of a day for each of 1 % of the symbols, if each is closed when "
            "2, 4 and 20 times its size have been traded after it, within five more days",
        .text = "raze{[d1;d2;s]\n"
                "  t:select date,price,size from trade where date within (d1;d2),sym=s;\n"
                "  n:exec sum date=d1 from t;\n"
                "  entry:$[n>0;distinct(n*til 10)div 10;til 0];\n"
                "  traded:sums \"j\"$t`size;\n"
                "  raze{[s;t;traded;entry;times]\n"
                "    closing:traded binr traded[entry]+times*t[`size]entry;\n"
                "    gain:(t[`price]closing)-t[`price]entry;\n"
                "    ([]sym:enlist s;times:enlist times;trades:enlist count entry;\n"
                "      closed:enlist sum not null gain;pnl:enlist sum gain*t[`size]entry)\n"
                "    }[s;t;traded;entry]each 2 4 20\n"
                "  }[{from};{to}]each {symbols}",
        .days = kDaysOfBasket,
        .symbols_share = 100},
    HistoryQuery{
        .name = "interval_statistics",
        .words = "number, extremes, mean and deviation of bids in each ten minutes of 100 minutes, "
                 "for all symbols",
        .text = "select quotes:count i,low:min bid,high:max bid,mean:avg bid,deviation:dev bid\n"
                "  by sym,10 xbar time.minute from quote where date={from},\n"
                "  time within ({begin};{end})"},
    HistoryQuery{.name = "intraday_aggregates",
                 .words = "bars of trades of 15 minutes of a day, for 10 % of the symbols",
                 .text = "select open:first price,high:max price,low:min price,close:last price,\n"
                         "  volume:sum size,vwap:size wavg price by sym,15 xbar time.minute\n"
                         "  from trade where date={from},sym in {symbols}",
                 .symbols_share = 10},
};

size_t WindowDays(const HistoryQuery& query, const DatabaseFacts& facts) {
  return std::min(query.days, facts.dates.size());
}

size_t SetSize(const HistoryQuery& query, const DatabaseFacts& facts) {
  return std::max<size_t>(1, facts.symbols.size() / query.symbols_share);
}

// Draws random numbers that are the same on every machine.
class Draws {
 public:
  Draws(uint64_t seed, uint64_t query, uint64_t client) {
    std::seed_seq words{seed & UINT32_MAX, seed >> 32, query, client};
    engine_.seed(words);
  }

  uint64_t Below(uint64_t bound) { return engine_() % bound; }

  // Returns 0 to count - 1 in a random order.
  std::vector<size_t> Order(size_t count) {
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), size_t{0});
    for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[Below(i)]);
    return order;
  }

 private:
  std::mt19937_64 engine_;
};

// Formats a time of day as q's timespan.
std::string TimespanText(int64_t ns) {
  const int64_t seconds = ns / kNsPerSecond;
  return fmt::format("0D{:02}:{:02}:{:02}.{:09}", seconds / 3600, seconds / 60 % 60, seconds % 60,
                     ns % kNsPerSecond);
}

std::string SymbolsText(const std::vector<std::string>& symbols) {
  std::string text;
  for (const std::string& symbol : symbols) text += "`" + symbol;
  return symbols.size() == 1 ? fmt::format("(enlist{})", text) : text;
}

void ReplaceAll(std::string& text, std::string_view name, const std::string& by) {
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + by.size())) {
    text.replace(at, name.size(), by);
  }
}

}  // namespace

std::span<const HistoryQuery> HistoryQueries() { return kHistoryQueries; }

size_t DistinctSubjects(const HistoryQuery& query, const DatabaseFacts& facts) {
  return facts.dates.size() / WindowDays(query, facts) *
         (facts.symbols.size() / SetSize(query, facts));
}

Subject SubjectOf(const HistoryQuery& query, const DatabaseFacts& facts, uint64_t seed,
                  size_t client) {
  TS_CHECK(!facts.dates.empty() && !facts.symbols.empty());
  if (query.overlap) client = 0;
  const auto number = static_cast<uint64_t>(&query - kHistoryQueries.data());
  const size_t days = WindowDays(query, facts), windows = facts.dates.size() / days;
  const size_t set_size = SetSize(query, facts), sets = facts.symbols.size() / set_size;

  // The same order for all clients of a query, so that they take different cells.
  Draws common(seed, number, 0);
  const size_t window = common.Order(windows)[client % windows];
  const std::vector<size_t> symbols = common.Order(facts.symbols.size());
  const size_t set = client / windows % sets;

  Subject subject{.from = facts.dates[window * days],
                  .to = facts.dates[window * days + days - 1],
                  .symbols = {}};
  for (size_t i = 0; i < set_size; ++i) {
    subject.symbols.push_back(facts.symbols[symbols[set * set_size + i]]);
  }
  std::ranges::sort(subject.symbols);
  Draws own(seed, number, client + 1);
  const int64_t latest_ns = std::max(facts.first_ns, facts.last_ns - kIntervalsNs);
  subject.begin_ns =
      facts.first_ns +
      static_cast<int64_t>(own.Below(static_cast<uint64_t>(latest_ns - facts.first_ns) + 1));
  subject.end_ns = subject.begin_ns + kIntervalsNs - 1;
  return subject;
}

bool IsPlainSymbol(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
  });
}

std::string TextOf(const HistoryQuery& query, const Subject& subject) {
  std::string text(query.text);
  ReplaceAll(text, "{from}", FormatDate(subject.from));
  ReplaceAll(text, "{to}", FormatDate(subject.to));
  ReplaceAll(text, "{symbols}", SymbolsText(subject.symbols));
  ReplaceAll(text, "{begin}", TimespanText(subject.begin_ns));
  ReplaceAll(text, "{end}", TimespanText(subject.end_ns));
  return text;
}

}  // namespace tickstack::measure::query_suite
