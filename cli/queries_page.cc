#include "cli/queries_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "base/build_facts.h"
#include "base/human_text.h"
#include "base/machine.h"
#include "base/time.h"
#include "loadtest/report/assets.h"
#include "loadtest/report/tables.h"
#include "loadtest/report/text.h"

namespace tickstack::cli {
namespace {

namespace suite = measure::query_suite;
using loadtest::report::HtmlTable;
using loadtest::report::Plural;
using loadtest::report::SafeHtml;
using suite::HistoryRound;

constexpr double kMb = 1e6;

int64_t P50Of(const HistoryRound& round) { return round.times.ns.ValueAtPercentile(50); }
int64_t P99Of(const HistoryRound& round) { return round.times.ns.ValueAtPercentile(99); }

double SecondsOf(const HistoryRound& round) {
  return static_cast<double>(std::max<int64_t>(1, round.times.elapsed_ns)) / 1e9;
}

double AnswersPerSecond(const HistoryRound& round) {
  return static_cast<double>(round.times.ns.Count()) / SecondsOf(round);
}

std::string RateText(double per_second) {
  return per_second < 100 ? fmt::format("{:.1f}", per_second) : Thousands(std::llround(per_second));
}

const HistoryRound* Find(const QueriesRun& run, std::string_view query, size_t clients, bool cold) {
  const auto found = std::ranges::find_if(run.rounds, [&](const HistoryRound& round) {
    return round.query == query && round.clients == clients && round.cold == cold;
  });
  return found == run.rounds.end() ? nullptr : &*found;
}

// The numbers of clients, ascending.
std::vector<size_t> ClientCounts(const QueriesRun& run) {
  std::vector<size_t> counts;
  for (const HistoryRound& round : run.rounds) counts.push_back(round.clients);
  std::ranges::sort(counts);
  counts.erase(std::ranges::unique(counts).begin(), counts.end());
  return counts;
}

// `1, 10 and 100`.
std::string ListText(const std::vector<size_t>& counts) {
  std::string text;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (i > 0) text += i + 1 == counts.size() ? " and " : ", ";
    text += std::to_string(counts[i]);
  }
  return text;
}

std::string DaysText(const suite::DatabaseFacts& facts) {
  if (facts.dates.empty()) return "no days";
  return fmt::format("{} from {} to {}", Plural(static_cast<int64_t>(facts.dates.size()), "day"),
                     FormatDate(facts.dates.front()), FormatDate(facts.dates.back()));
}

// ---- the head

std::string Head(const QueriesRun& run) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      // The page fetches nothing and runs nothing, and neither could a name that got through.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "style-src 'unsafe-inline'\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>Queries of {}</title>\n"
      "<style>\n{}\n</style>\n</head>\n",
      SafeHtml(run.database), loadtest::report::kReportCss);
}

// The shortest and the longest median of the rounds of one phase with that many clients.
std::optional<std::pair<int64_t, int64_t>> MedianRange(const QueriesRun& run, size_t clients,
                                                       bool cold) {
  std::optional<std::pair<int64_t, int64_t>> range;
  for (const HistoryRound& round : run.rounds) {
    if (round.clients != clients || round.cold != cold || round.times.ns.Count() == 0) continue;
    const int64_t ns = P50Of(round);
    if (!range) range.emplace(ns, ns);
    range->first = std::min(range->first, ns);
    range->second = std::max(range->second, ns);
  }
  return range;
}

std::string Story(const QueriesRun& run) {
  const std::vector<size_t> counts = ClientCounts(run);
  if (counts.empty()) return "No round was finished.";
  std::string text = fmt::format("{} {} of {}, asked by {} {} at a time.", run.queries.size(),
                                 run.queries.size() == 1 ? "query" : "queries", DaysText(run.facts),
                                 ListText(counts), counts.back() == 1 ? "client" : "clients");
  const auto cold = MedianRange(run, counts.back(), true);
  const auto warm = MedianRange(run, counts.back(), false);
  if (!cold || !warm) return text;
  return text + fmt::format(
                    " With {}, the median time of an answer was {} to {} from an empty page cache, "
                    "and {} to {} when the same was asked again, depending on the query.",
                    Plural(static_cast<int64_t>(counts.back()), "client"), NsText(cold->first),
                    NsText(cold->second), NsText(warm->first), NsText(warm->second));
}

std::string FailureSection(const QueriesRun& run) {
  if (run.failure.empty()) return "";
  return fmt::format(
      "<section class=\"failures\" role=\"alert\" aria-labelledby=\"failures\">\n"
      "<h2 id=\"failures\">FAILED</h2>\n<ul><li>{}</li></ul>\n"
      "<p>The rounds below were measured before; later ones are missing.</p>\n</section>\n",
      SafeHtml(run.failure));
}

std::string Warnings(const QueriesRun& run) {
  std::string html;
  for (const HistoryRound& round : run.rounds) {
    const std::string warning = suite::WarningOf(round);
    if (!warning.empty()) html += fmt::format("<li>{}</li>\n", SafeHtml(warning));
  }
  return html.empty() ? "" : "<ul class=\"note\">\n" + html + "</ul>\n";
}

std::string Header(const QueriesRun& run) {
  const Machine machine = ThisMachine();
  std::string html = fmt::format(
      "<header>\n<p class=\"quiet\">tickstack hdb queries</p>\n<h1>{}</h1>\n{}"
      "<p class=\"story\">{}</p>\n{}<dl class=\"facts\">",
      SafeHtml(run.database), FailureSection(run), SafeHtml(Story(run)), Warnings(run));
  const auto add = [&html](std::string_view what, const std::string& text) {
    if (text.empty()) return;
    html += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", what, SafeHtml(text));
  };
  add("Begin", run.begin);
  add("Symbols", Thousands(static_cast<int64_t>(run.facts.symbols.size())));
  if (!run.rounds.empty()) add("Size", BytesText(run.rounds.front().database_bytes));
  add("Directories", std::to_string(run.directories.size()));
  add("Seed", std::to_string(run.seed));
  add("Warm rounds", fmt::format("{:g} s", run.seconds));
  add("Dropped before cold rounds", run.drop);
  if (run.query_threads > 0) add("Query threads", std::to_string(run.query_threads));
  add("Machine", fmt::format("{}, {}, {}, {}", machine.cpu, Plural(machine.cores, "core"),
                             BytesText(machine.memory_bytes), machine.kernel));
  add("tickstack", fmt::format("{} {}", kBuildFacts.version, kBuildFacts.commit));
  return html + "</dl>\n</header>\n";
}

// ---- medians

std::string MediansTable(const QueriesRun& run) {
  const std::vector<size_t> counts = ClientCounts(run);
  HtmlTable table("medians", "Median time of an answer, and answers per second");
  table.Span(
      {{"cold", counts.size()}, {"warm", counts.size()}, {"warm, answers/s", counts.size()}});
  std::vector<std::string> heads = {"Clients"};
  for (int span = 0; span < 3; ++span) {
    for (const size_t count : counts) heads.push_back(std::to_string(count));
  }
  table.Head(heads);
  for (const suite::HistoryQuery* query : run.queries) {
    std::vector<std::string> cells;
    for (const bool cold : {true, false}) {
      for (const size_t count : counts) {
        const HistoryRound* const round = Find(run, query->name, count, cold);
        cells.emplace_back(round == nullptr ? "" : NsText(P50Of(*round)));
      }
    }
    for (const size_t count : counts) {
      const HistoryRound* const round = Find(run, query->name, count, false);
      cells.emplace_back(round == nullptr ? "" : RateText(AnswersPerSecond(*round)));
    }
    table.Row(query->name, cells);
  }
  return table.Finish();
}

// ---- rounds

// The axis that all rounds share: logarithmic, from one power of ten to another.
class TimeAxis {
 public:
  explicit TimeAxis(const std::vector<HistoryRound>& rounds) {
    int64_t least = INT64_MAX, most = 1;
    for (const HistoryRound& round : rounds) {
      if (round.times.ns.Count() == 0) continue;
      least = std::min(least, std::max<int64_t>(1, P50Of(round)));
      most = std::max(most, round.times.ns.Max());
    }
    least = std::min(least, most);
    first_ = static_cast<int>(std::floor(std::log10(static_cast<double>(least))));
    last_ =
        std::max(first_ + 1, static_cast<int>(std::ceil(std::log10(static_cast<double>(most)))));
  }

  // Returns how far right a time is, from 0 to 100.
  double PercentOf(int64_t ns) const {
    const double decades = std::log10(static_cast<double>(std::max<int64_t>(1, ns))) - first_;
    return std::clamp(100 * decades / Decades(), 0.0, 100.0);
  }

  // Returns at most three powers of ten, to stand above the bars.
  std::string HeadHtml() const {
    const int step = (last_ - first_) / 3 + 1;
    std::string html = "<div class=\"axis\">";
    for (int decade = first_; decade <= last_; ++decade) {
      const bool shown = (last_ - decade) % step == 0;
      html += fmt::format("<span>{}</span>", shown ? UnitText(decade) : "");
    }
    return html + "</div>";
  }

  // Returns the bar of a round: from its median to its 99th percentile, and a mark at the longest.
  std::string BarHtml(const HistoryRound& round) const {
    const double from = PercentOf(P50Of(round)), to = PercentOf(P99Of(round));
    return fmt::format(
        "<div class=\"range {}\" style=\"--decades:{}\" aria-hidden=\"true\"><i "
        "style=\"left:{:.2f}%;width:{:.2f}%\"></i><b style=\"left:{:.2f}%\"></b></div>",
        round.cold ? "c0" : "c1", last_ - first_, from, to - from, PercentOf(round.times.ns.Max()));
  }

 private:
  double Decades() const { return last_ - first_; }

  // `100 us`, for 5.
  static std::string UnitText(int decade) {
    static constexpr std::string_view kUnits[] = {"ns", "us", "ms", "s"};
    const int unit = std::min(decade / 3, 3);
    return fmt::format("{:.0f} {}", std::pow(10, decade - 3 * unit), kUnits[unit]);
  }

  int first_ = 0, last_ = 1;
};

std::string RoundsTable(const QueriesRun& run) {
  const TimeAxis axis(run.rounds);
  HtmlTable table("rounds", "Every round");
  table.Head({"Clients and phase", axis.HeadHtml(), "median", "99 % within", "longest", "answers",
              "answers/s", "rows", "read, MB", "MB/s", "served by"});
  for (const suite::HistoryQuery* query : run.queries) {
    table.Group(fmt::format("{}: {}", query->name, query->words));
    for (const HistoryRound& round : run.rounds) {
      if (round.query != query->name) continue;
      const double read_mb = static_cast<double>(round.read_bytes) / kMb;
      table.RowOfHtml(
          fmt::format("{} {}", round.clients, round.cold ? "cold" : "warm"),
          {axis.BarHtml(round), NsText(P50Of(round)), NsText(P99Of(round)),
           NsText(round.times.ns.Max()), Thousands(static_cast<int64_t>(round.times.ns.Count())),
           RateText(AnswersPerSecond(round)), Thousands(static_cast<int64_t>(round.rows)),
           fmt::format("{:.1f}", read_mb), fmt::format("{:.1f}", read_mb / SecondsOf(round)),
           std::string(round.ServedBy())});
    }
  }
  return table.Finish();
}

// ---- directories

std::string DirectoriesSection(const QueriesRun& run) {
  if (run.directories.size() < 2) return "";
  HtmlTable table("directories", "Bytes that each cold round read, by directory of par.txt");
  std::vector<std::string> heads = {"Query and clients"};
  for (const std::string& directory : run.directories) heads.push_back(SafeHtml(directory));
  heads.emplace_back("skew");
  table.Head(heads);
  for (const HistoryRound& round : run.rounds) {
    if (!round.cold) continue;
    uint64_t all = 0;
    for (size_t i = 0; i < run.directories.size(); ++i) all += round.BytesFrom(i);
    std::vector<std::string> cells;
    for (size_t i = 0; i < run.directories.size(); ++i) {
      const auto bytes = static_cast<double>(round.BytesFrom(i));
      const double share = 100 * bytes / static_cast<double>(std::max<uint64_t>(1, all));
      cells.push_back(
          fmt::format("{:.2f} MB <span class=\"bar\" aria-hidden=\"true\"><i "
                      "style=\"width:{:.1f}%\"></i></span>"
                      " {:.1f} %",
                      bytes / kMb, share, share));
    }
    cells.push_back(fmt::format("{:.2f}", round.Skew()));
    table.RowOfHtml(SafeHtml(fmt::format("{}, {}", round.query, round.clients)), cells);
  }
  return "<section aria-labelledby=\"spread\">\n<h2 id=\"spread\">Directories</h2>\n"
         "<p>Counted as pages that a round brought into the page cache. The skew is the largest "
         "share divided by the mean. A query of few days cannot be spread evenly, because a day is "
         "in one directory.</p>\n" +
         table.Finish() + "</section>\n";
}

// ---- definitions

std::string Definitions(const QueriesRun& run) {
  std::string html =
      "<section aria-labelledby=\"definitions\">\n<h2 id=\"definitions\">The queries</h2>\n"
      "<p>Each client replaces <code>{from}</code>, <code>{to}</code>, <code>{symbols}</code>, "
      "<code>{begin}</code> and <code>{end}</code> by days, symbols and times of its own.</p>\n";
  for (const suite::HistoryQuery* query : run.queries) {
    html += fmt::format("<h3>{}</h3>\n<p>{}</p>\n<pre>{}</pre>\n", SafeHtml(query->name),
                        SafeHtml(query->words), SafeHtml(query->text));
  }
  return html + "</section>\n";
}

}  // namespace

std::string QueriesPage(const QueriesRun& run) {
  std::string html = Head(run) + "<body>\n<main>\n" + Header(run);
  if (!run.rounds.empty()) {
    html +=
        "<section aria-labelledby=\"side\">\n<h2 id=\"side\">Side by side</h2>\n"
        "<p>Cold: the hdb loads the database again, its files' pages are dropped from the page "
        "cache, and all clients ask once, at the same time. Warm: each client asks its question "
        "again and again. Times are from sending a question until its answer was decoded.</p>\n" +
        MediansTable(run) +
        "</section>\n<section aria-labelledby=\"each\">\n<h2 id=\"each\">Rounds</h2>\n"
        "<p>A bar reaches from the median to the time within which 99 % of the answers came; the "
        "mark is the longest. Read: what the hdb read from storage during the round. Rows: of the "
        "first client's answer.</p>\n"
        "<ul class=\"key\"><li class=\"c0\"><i></i>cold</li><li "
        "class=\"c1\"><i></i>warm</li></ul>\n" +
        RoundsTable(run) + "</section>\n" + DirectoriesSection(run);
  }
  html += Definitions(run);
  return html +
         "<footer><p class=\"quiet\">Compare these figures only with those of the same queries and "
         "the same data: seed, days, symbols and rows.</p></footer>\n</main>\n</body>\n</html>\n";
}

}  // namespace tickstack::cli
