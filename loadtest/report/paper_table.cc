#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "loadtest/report/compare_spread.h"
#include "loadtest/report/groups.h"
#include "loadtest/report/paper.h"
#include "loadtest/report/tables.h"
#include "loadtest/report/text.h"

namespace tickstack::loadtest::report {
namespace {

// Returns the longest latency of the last minute. The paper's ends when a tick was in the
// aggregated data. Ours ends when the tick could be queried, too, because bars can be published
// before rows.
std::optional<double> LongestLatency(const RecordedStack& stack) {
  std::optional<double> longest;
  for (const Metric metric :
       {Metric::kTradeLag, Metric::kQuoteLag, Metric::kTradeBarLag, Metric::kQuoteBarLag}) {
    const std::optional<double> max = stack.metric(metric).last_minute.max_ms;
    if (max) longest = std::max(longest.value_or(*max), *max);
  }
  return longest;
}

std::string MegabytesText(std::optional<double> megabytes) {
  if (!megabytes) return std::string(kNotMeasured);
  return *megabytes < 100 ? fmt::format("{:.3g} MB", *megabytes) : CountText(megabytes) + " MB";
}

std::string MegabytesOf(std::optional<double> bytes) {
  return MegabytesText(bytes ? std::optional(*bytes / 1e6) : std::nullopt);
}

std::string PercentCell(std::optional<double> percent) {
  return percent ? fmt::format("{:.3g} %", *percent) : std::string(kNotMeasured);
}

// A row of the table: our two figures, which a phone shows without scrolling, then the paper's.
class PaperLines {
 public:
  PaperLines(HtmlTable& table, const PaperRow& row, const RecordedTest& test)
      : table_(table), row_(row), groups_(GroupsOf(test)) {}

  using Text = std::string (*)(std::optional<double>);
  void Add(std::string_view heading, const PaperPair& theirs, Text their_text,
           std::optional<double> first, std::optional<double> second, Text our_text,
           bool has_too_few = false) {
    const auto ours = [has_too_few](const std::string& text) {
      return has_too_few ? "<span class=\"quiet\">" + SafeHtml(text) + "</span>" : SafeHtml(text);
    };
    table_.RowOfHtml(SafeHtml(heading),
                     {ours(our_text(first)), ours(our_text(second)),
                      ours(has_too_few ? "too few values" : RatioText(second, first)),
                      SafeHtml(their_text(theirs.dram)), SafeHtml(their_text(theirs.optane)),
                      SafeHtml(RatioText(theirs.optane, theirs.dram))});
  }

  void AddAll(const RunFiles& run) {
    const Figure per_minute = [](const RecordedStack& stack) { return stack.queries_per_minute; };
    const Figure query = [](const RecordedStack& stack) {
      return stack.metric(Metric::kQuery).last_minute.p50_ms;
    };
    Add("Longest latency", row_.max_latency_ms, DurationText, WorstOf(groups_[0], LongestLatency),
        WorstOf(groups_[1], LongestLatency), DurationText);
    if (row_.many_rdbs) {
      const Figure part = [&run](const RecordedStack& stack) -> std::optional<double> {
        const std::optional<double> used = DramUsed(stack);
        if (!used || !run.memory_bytes || *run.memory_bytes <= 0) return std::nullopt;
        return *used / *run.memory_bytes * 100;
      };
      Add("DRAM in use, of the machine's", row_.memory, PercentCell, MeanOf(groups_[0], part),
          MeanOf(groups_[1], part), PercentCell);
    } else {
      Add("DRAM in use, of an RDB", row_.memory, MegabytesText, MeanOf(groups_[0], DramUsed),
          MeanOf(groups_[1], DramUsed), MegabytesOf);
    }
    const bool has_too_few = std::ranges::any_of(groups_, [](const Group& group) {
      return std::ranges::any_of(group.stacks, [](const auto* stack) {
        const auto count = static_cast<double>(stack->metric(Metric::kQuery).last_minute.count);
        return !EnoughValues(count, 0.5);
      });
    });
    Add("Query", row_.query_avg_ms, DurationText, MeanOf(groups_[0], query),
        MeanOf(groups_[1], query), DurationText, has_too_few);
    Add("Queries per minute", row_.queries_per_minute, CountText, MeanOf(groups_[0], per_minute),
        MeanOf(groups_[1], per_minute), CountText);
  }

 private:
  HtmlTable& table_;
  const PaperRow& row_;
  std::vector<Group> groups_;
};

std::string LabelOf(const Group& group) {
  return SafeHtml(group.placement) +
         (group.simulated ? " <span class=\"simulated\">SIMULATED</span>" : "") +
         (std::ranges::any_of(group.stacks, [](auto* stack) { return IsOnTmpfs(*stack); })
              ? " <span class=\"simulated\">DRAM (tmpfs)</span>"
              : "");
}

// Returns the headings of our two columns; with several tests whose placements differ, each test
// names its own.
std::pair<std::string, std::string> MeasuredHeads(
    const std::vector<std::pair<const RecordedTest*, const PaperRow*>>& matches) {
  std::pair<std::string, std::string> heads;
  for (const auto& [test, row] : matches) {
    const std::vector<Group> groups = GroupsOf(*test);
    const std::pair found(LabelOf(groups[0]), LabelOf(groups[1]));
    if (!heads.first.empty() && heads != found) return {"first", "second"};
    heads = found;
  }
  return heads;
}

// Says how many rows each rdb had before the first update, in both: queries and memory depend on
// it.
std::string RowsOf(const RecordedTest& test) {
  const auto count = [](int64_t rows) { return CountText(static_cast<double>(rows)); };
  if (!test.prestress_quotes && !test.prestress_trades) return "";
  return fmt::format(
      ". Rows of each RDB at the beginning: {} quotes and {} trades here, {} and {} in the paper",
      count(test.prestress_quotes.value_or(0)), count(test.prestress_trades.value_or(0)),
      count(kPaperRdbQuotes), count(kPaperRdbTrades));
}

}  // namespace

std::string PaperTable(const RunFiles& run) {
  std::vector<std::pair<const RecordedTest*, const PaperRow*>> matches;
  for (const RecordedTest& test : run.tests) {
    if (const PaperRow* const row = MatchingPaperRow(test)) matches.emplace_back(&test, row);
  }
  if (matches.empty()) return "";
  HtmlTable table("paper-table", "The paper's table, and ours");
  const auto [first, second] = MeasuredHeads(matches);
  table.Span({{"this run, on this machine", 3}, {"as published, on their hardware", 3}});
  table.Head({"", first, second, "ratio", "DRAM", "Optane", "ratio"});
  for (const auto& [test, row] : matches) {
    const std::vector<Group> groups = GroupsOf(*test);
    std::string heading = fmt::format("{}: batches every {:g} ms, a query every {:g} ms", row->name,
                                      row->batch_ms, row->query_ms);
    if (first == "first") {
      heading +=
          fmt::format("; first is {}, second is {}", groups[0].placement, groups[1].placement);
    }
    table.Group(heading + RowsOf(*test));
    PaperLines(table, *row, *test).AddAll(run);
  }
  return table.Finish();
}

}  // namespace tickstack::loadtest::report
