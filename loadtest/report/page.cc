#include "loadtest/report/page.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "loadtest/report/assets.h"
#include "loadtest/report/charts.h"
#include "loadtest/report/clients.h"
#include "loadtest/report/groups.h"
#include "loadtest/report/noise.h"
#include "loadtest/report/run.h"
#include "loadtest/report/series.h"
#include "loadtest/report/story.h"
#include "loadtest/report/tables.h"
#include "loadtest/report/text.h"

namespace tickstack::loadtest {
namespace report {
namespace {

constexpr size_t kFailureBytesMax = 4000;  // A reason may quote the last lines of a log.
constexpr size_t kFailuresMax = 40;

std::string Head(const RunFiles& run) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      // The page fetches nothing, and neither could a name that got through as markup.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>Load test {}</title>\n"
      "<style>\n{}\n{}\n</style>\n</head>\n",
      SafeHtml(run.name), kUPlotMinCss, kReportCss);
}

std::string FailureSection(const std::vector<std::string>& failures) {
  if (failures.empty()) return "";
  std::string html =
      "<section class=\"failures\" role=\"alert\" aria-labelledby=\"failures\">\n"
      "<h2 id=\"failures\">FAILED</h2>\n<ul>\n";
  for (size_t i = 0; i < std::min(failures.size(), kFailuresMax); ++i) {
    const bool cut = failures[i].size() > kFailureBytesMax;
    html += fmt::format("<li>{}{}</li>\n", SafeHtml(failures[i].substr(0, kFailureBytesMax)),
                        cut ? " ..." : "");
  }
  if (failures.size() > kFailuresMax) {
    html += fmt::format("<li>and {} more</li>\n", failures.size() - kFailuresMax);
  }
  return html +
         "</ul>\n<p>The figures below were measured before the failure; do not use them as "
         "results.</p>\n</section>\n";
}

std::string SimulatedNote(const RunFiles& run) {
  const bool simulated = std::any_of(run.tests.begin(), run.tests.end(), [](const auto& test) {
    return std::any_of(test.stacks.begin(), test.stacks.end(),
                       [](const RecordedStack& stack) { return stack.simulated; });
  });
  if (!simulated) return "";
  return "<p class=\"note\"><span class=\"simulated\">SIMULATED</span> Stacks with this mark ran "
         "on ordinary memory, slowed down by a model of other hardware. Their figures are "
         "predictions for that hardware, not measurements of it.</p>\n";
}

std::string TmpfsNote(const RunFiles& run) {
  const bool on_tmpfs = std::any_of(run.tests.begin(), run.tests.end(), [](const auto& test) {
    return std::any_of(test.stacks.begin(), test.stacks.end(), IsOnTmpfs);
  });
  if (!on_tmpfs) return "";
  return "<p class=\"note\"><span class=\"simulated\">DRAM (tmpfs)</span> The second tier of "
         "stacks "
         "with this mark was a tmpfs, which is DRAM of this machine. Their figures show what the "
         "software costs in a file system's memory, and say nothing about another medium.</p>\n";
}

std::string NoiseNote(const RunFiles& run) {
  double worst_ms = 0;
  for (const RecordedTest& test : run.tests) {
    if (IsNoisy(test.relay.p99_ms)) worst_ms = std::max(worst_ms, *test.relay.p99_ms);
  }
  if (worst_ms == 0) return "";
  return fmt::format(
      "<p class=\"note\"><span class=\"simulated\">NOISY MACHINE</span> A bare relay beside the "
      "stacks, which only passes on small messages, took {} for 99 % of them. Latencies show how "
      "busy the machine was, too.</p>\n",
      DurationText(worst_ms));
}

std::string Header(const RunFiles& run) {
  std::vector<std::string> facts;
  const auto add = [&facts](std::string_view what, const std::string& text) {
    if (!text.empty()) facts.push_back(fmt::format("<dt>{}</dt><dd>{}</dd>", what, SafeHtml(text)));
  };
  add("Begin", run.begin);
  add("Rate", run.updates_per_s > 0 && run.maxima.empty()
                  ? CountText(run.updates_per_s) + " updates/s"
                  : "");
  if (run.quotes_per_trade) add("Quotes to a trade", fmt::format("{:g}", *run.quotes_per_trade));
  if (run.symbols) add("Symbols", CountText(static_cast<double>(*run.symbols)));
  if (run.seed) add("Seed", std::to_string(*run.seed));
  // Nothing to say without clients, or for older files, which do not name their queries.
  const bool clients =
      std::any_of(run.tests.begin(), run.tests.end(),
                  [](const RecordedTest& test) { return !ClientsOf(test).empty(); });
  if (clients) add("Clients ask", run.query_set);
  std::string html = fmt::format(
      "<header>\n<p class=\"quiet\">tickstack load test</p>\n<h1>{}</h1>\n", SafeHtml(run.name));
  html += FailureSection(Failures(run));
  html += fmt::format("<p class=\"story\">{}</p>\n", SafeHtml(StorySentence(run)));
  html += SimulatedNote(run) + TmpfsNote(run) + NoiseNote(run) + "<dl class=\"facts\">";
  for (const std::string& fact : facts) html += "<div>" + fact + "</div>";
  html += "</dl>\n";
  if (!run.command.empty()) {
    html += fmt::format(
        "<p class=\"command\"><span class=\"quiet\">Command:</span> <code>{}</code></p>\n",
        SafeHtml(run.command));
  }
  return html + "</header>\n";
}

std::string PaperSection(const RunFiles& run) {
  const std::string table = PaperTable(run);
  if (table.empty()) return "";
  return "<section aria-labelledby=\"paper\">\n<h2 id=\"paper\">Beside the paper</h2>\n"
         "<p>\"Using Intel Optane memory to expand the capacity of a typical realtime kdb market "
         "data "
         "system\" compared the same places with kdb+. Its figures are as published, from another "
         "machine with other data, so compare ratios and how they change with the timers, not "
         "absolute times.</p>\n" +
         table +
         "<p class=\"quiet\">Latency: the longest of the last minute, from when a tick was made "
         "until it was in the bars of the RDB. Ours also waits until the tick itself could be "
         "queried, because bars can be ahead of ticks. Query time: the paper reports the mean of a "
         "query over every symbol, we report the median of all queries of a sample, so only the "
         "ratios are comparable. Query count: the paper counts the queries of one RDB (Test 2: of "
         "all RDBs), we count the samples of a stack's monitors. DRAM: bytes of rows in DRAM "
         "tiers. The table of memory by tier shows how much of the other tiers the operating "
         "system keeps in DRAM; on a tmpfs that is everything.</p>\n</section>\n";
}

std::string LimitList(const std::vector<Limit>& limits) {
  if (limits.empty()) return "<p>This run has no measurements of its limits.</p>\n";
  std::string html = "<ul class=\"limits\">\n";
  for (const Limit& limit : limits) {
    html += fmt::format("<li class=\"{}\"><b>{}</b> {}</li>\n", limit.reached ? "reached" : "room",
                        limit.reached ? "Limit:" : "Room:", SafeHtml(limit.text));
  }
  return html + "</ul>\n";
}

std::string TestSection(const RunFiles& run, size_t i, const TestSeries& series) {
  const RecordedTest& test = run.tests[i];
  std::string html = fmt::format(
      "<section class=\"test\" aria-labelledby=\"test-{0}\">\n<h2 id=\"test-{0}\">Test {1}</h2>\n"
      "<p>Batch interval {2:g} ms, query interval {3:g} ms, duration {4}{5}.</p>\n",
      i, SafeHtml(test.name), test.batch_ms, test.query_ms, SettingText(test.seconds * 1e3),
      test.prestress_quotes || test.prestress_trades
          ? fmt::format(", with {} quotes and {} trades loaded before the test",
                        CountText(static_cast<double>(test.prestress_quotes.value_or(0))),
                        CountText(static_cast<double>(test.prestress_trades.value_or(0))))
          : "");
  html += ChartFigures(test, series, i);
  html += SideBySideTable(test, i) + ClientTable(test, i);
  html += "<h3>Where the limits are</h3>\n" + LimitList(Limits(run, test, series));
  html += TierTable(test, i);
  html += "<details class=\"full\"><summary>All times, rows and processes of this test</summary>\n";
  html +=
      PercentileTable(test, i) + RowsTable(test, i) + ProcessTable(test, i) + ShareTable(test, i);
  return html + "</details>\n</section>\n";
}

std::string MaximumSection(const RunFiles& run) {
  if (run.maxima.empty()) return "";
  std::string html =
      "<section aria-labelledby=\"maximum\">\n<h2 id=\"maximum\">The highest rate</h2>\n";
  for (size_t i = 0; i < run.maxima.size(); ++i) {
    const Maximum& maximum = run.maxima[i];
    html += fmt::format(
        "<p>{} sustained <b>{} updates/s</b> with a latency below {}; it captured {} updates/s. "
        "The next higher rate: {}.</p>\n",
        SafeHtml(maximum.stack), CountText(maximum.updates_per_s),
        maximum.below_ms ? SettingText(*maximum.below_ms) : "any bound",
        CountText(maximum.achieved_per_s),
        maximum.broke.empty() ? "not tried" : SafeHtml(maximum.broke));
    html += MaximumTable(maximum, i);
  }
  return html + "</section>\n";
}

std::string Foot() {
  return fmt::format(
      "<section aria-labelledby=\"how\">\n<h2 id=\"how\">How to read this</h2>\n"
      "<p>A latency is the time from when a tick was due until a query saw it, so it includes the "
      "delay of a feed or a stack that falls behind, and the wait for the tickerplant's batch "
      "timer. \"99 % within\" is the time that one value in a hundred exceeds. A ratio compares "
      "the means of all stacks with the same placement. One run does not show how much runs differ "
      "from each other; use <code>tickstack compare</code> for that.</p>\n</section>\n"
      "<footer class=\"quiet\"><p>Made by tickstack. Charts: uPlot, MIT licence.</p>\n"
      "<details><summary>Licence of uPlot</summary><pre>{}</pre></details></footer>\n",
      SafeHtml(kLICENSE));
}

std::string Page(const RunFiles& run, const std::vector<TestSeries>& series) {
  std::string html = Head(run) + "<body>\n<main>\n" + Header(run);
  html +=
      "<noscript><p class=\"note\">The charts need JavaScript. The tables contain the same "
      "figures, except for how they change over time.</p></noscript>\n";
  html += MaximumSection(run) + PaperSection(run);
  for (size_t i = 0; i < run.tests.size(); ++i) html += TestSection(run, i, series[i]);
  html += "<section aria-labelledby=\"environment\">\n<h2 id=\"environment\">Environment</h2>\n" +
          EnvironmentTable(run) + "</section>\n" + Foot() + "</main>\n";
  html += fmt::format("<script type=\"application/json\" id=\"data\">{}</script>\n",
                      EscapeForScript(ChartData(run, series)));
  html += fmt::format("<script>\n{}\n</script>\n<script>\n{}\n</script>\n</body>\n</html>\n",
                      kUPlotIifeMinJs, kReportJs);
  return html;
}

absl::Status WriteWhole(const std::string& path, std::string_view text) {
  const std::string temporary = path + ".tmp";
  TS_ASSIGN_OR_RETURN(File file, File::OpenOrCreate(temporary));
  TS_RETURN_IF_ERROR(file.Truncate(0));
  absl::Status written = file.WriteAt(0, std::as_bytes(std::span(text)));
  if (written.ok()) written = file.SyncData();
  if (written.ok()) written = RenameReplacing(temporary, path);
  if (!written.ok()) unlink(temporary.c_str());
  return written;
}

}  // namespace
}  // namespace report

absl::StatusOr<std::string> ReportPage(const std::string& run_directory) {
  TS_ASSIGN_OR_RETURN(const report::RunFiles run, report::ReadRun(run_directory));
  TS_ASSIGN_OR_RETURN(const std::vector<report::TestSeries> series, report::ReadSeries(run));
  return report::Page(run, series);
}

absl::Status WriteReport(const std::string& run_directory) {
  TS_ASSIGN_OR_RETURN(const std::string page, ReportPage(run_directory));
  return report::WriteWhole(run_directory + "/report.html", page);
}

}  // namespace tickstack::loadtest
