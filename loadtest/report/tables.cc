#include "loadtest/report/tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "loadtest/report/clients.h"
#include "loadtest/report/compare_spread.h"
#include "loadtest/report/groups.h"
#include "loadtest/report/text.h"

namespace tickstack::loadtest::report {
namespace {

std::optional<double> AsNumber(const std::optional<int64_t>& count) {
  return count ? std::optional(static_cast<double>(*count)) : std::nullopt;
}

// A line of the side-by-side table.
struct Line {
  std::string heading;
  Figure figure;
  std::string (*text)(std::optional<double>);
  double quantile = 0;  // That the figure is, of `values`; 0: it is no quantile.
  Figure values = {};   // How many values it is of.

  // True if chance decides about the figure.
  bool HasTooFew(const RecordedStack& stack) const {
    return quantile > 0 && figure(stack) && !EnoughValues(values(stack).value_or(0), quantile);
  }
};

// Returns the quantile that a field is; 0 for the largest value.
double QuantileOf(std::optional<double> Distribution::* field) {
  return field == &Distribution::p50_ms ? 0.5 : field == &Distribution::p99_ms ? 0.99 : 0;
}

using MetricField = std::optional<double> Distribution::*;

Line MetricLine(std::string heading, Metric metric, MetricField field, bool last_minute = false) {
  return {std::move(heading),
          [=](const RecordedStack& stack) {
            const MetricResult& result = stack.metric(metric);
            return (last_minute ? result.last_minute : result.whole).*field;
          },
          DurationText, QuantileOf(field),
          [=](const RecordedStack& stack) {
            const MetricResult& result = stack.metric(metric);
            return std::optional(
                static_cast<double>((last_minute ? result.last_minute : result.whole).count));
          }};
}

struct LineGroup {
  std::string heading;
  std::vector<Line> lines;
};

LineGroup ClientLines(const ClientNames& client) {
  LineGroup group{"Answers to " + client.client->name, {}};
  const std::string& of = client.client->name;
  for (const std::string& name : client.queries) {
    for (const auto& [words, field] : {std::pair{"median", &Distribution::p50_ms},
                                       std::pair{"99 % within", &Distribution::p99_ms}}) {
      const MetricField which = field;
      group.lines.push_back(
          {fmt::format("{}, {}", name, words),
           [of, name, which](const RecordedStack& stack) -> std::optional<double> {
             const RecordedQuery* const query = FindQuery(stack, of, name);
             return query == nullptr ? std::nullopt : query->times.whole.*which;
           },
           DurationText, QuantileOf(which),
           [of, name](const RecordedStack& stack) -> std::optional<double> {
             const RecordedQuery* const query = FindQuery(stack, of, name);
             if (query == nullptr) return std::nullopt;
             return static_cast<double>(query->times.whole.count);
           }});
    }
  }
  group.lines.push_back({"answers per minute",
                         [of](const RecordedStack& stack) -> std::optional<double> {
                           std::optional<double> sum;
                           for (const RecordedClient& one : stack.clients) {
                             if (one.name != of) continue;
                             for (const RecordedQuery& query : one.queries) {
                               if (query.per_minute) sum = sum.value_or(0) + *query.per_minute;
                             }
                           }
                           return sum;
                         },
                         CountText});
  return group;
}

std::vector<LineGroup> SideBySideLines(const RecordedTest& test) {
  const auto field = [](auto member) {
    return [member](const RecordedStack& stack) { return stack.*member; };
  };
  const Figure cores = [&test](const RecordedStack& stack) { return CoresUsed(test, stack); };
  std::vector<LineGroup> groups;
  groups.push_back(
      {"From a tick to its bar (quotes)",
       {MetricLine("median", Metric::kQuoteBarLag, &Distribution::p50_ms),
        MetricLine("99 % within", Metric::kQuoteBarLag, &Distribution::p99_ms),
        MetricLine("longest", Metric::kQuoteBarLag, &Distribution::max_ms),
        MetricLine("longest, last minute", Metric::kQuoteBarLag, &Distribution::max_ms, true)}});
  groups.push_back(
      {"From a tick to ...",
       {MetricLine("its bar (trades), 99 %", Metric::kTradeBarLag, &Distribution::p99_ms),
        MetricLine("its bar (trades), longest", Metric::kTradeBarLag, &Distribution::max_ms),
        MetricLine("its row (quotes), 99 %", Metric::kQuoteLag, &Distribution::p99_ms),
        MetricLine("its row (quotes), longest", Metric::kQuoteLag, &Distribution::max_ms),
        MetricLine("its row (trades), 99 %", Metric::kTradeLag, &Distribution::p99_ms),
        MetricLine("its row (trades), longest", Metric::kTradeLag, &Distribution::max_ms)}});
  groups.push_back(
      {"Queries",
       {MetricLine("as-of join, median", Metric::kAsof, &Distribution::p50_ms),
        MetricLine("as-of join, 99 % within", Metric::kAsof, &Distribution::p99_ms),
        MetricLine("all of a sample, median", Metric::kQuery, &Distribution::p50_ms),
        MetricLine("all of a sample, 99 % within", Metric::kQuery, &Distribution::p99_ms),
        {"samples per minute", field(&RecordedStack::queries_per_minute), CountText}}});
  for (const ClientNames& client : ClientsOf(test)) groups.push_back(ClientLines(client));
  groups.push_back({"Rows per second",
                    {{"offered", field(&RecordedStack::offered_per_s), CountText},
                     {"captured", field(&RecordedStack::captured_per_s), CountText}}});
  groups.push_back({"Memory and CPU",
                    {{"rows in DRAM", DramUsed, BytesText},
                     {"rows in other tiers", OtherTiersUsed, BytesText},
                     {"all processes, each page once", ProcessesShare, BytesText},
                     {"cores busy", cores, [](std::optional<double> value) {
                        return value ? fmt::format("{:.2f}", *value) : std::string(kNotMeasured);
                      }}}});
  return groups;
}

bool IsMeasured(const RecordedTest& test, const Line& line) {
  return std::any_of(test.stacks.begin(), test.stacks.end(), [&line](const RecordedStack& stack) {
    return line.figure(stack).has_value();
  });
}

// A figure of so few values that chance decides about it is grey.
std::string QuietHtml(std::string_view html) {
  return fmt::format("<span class=\"quiet\">{}</span>", html);
}

std::string Bar(double part) {
  return fmt::format(
      "<span class=\"bar\" aria-hidden=\"true\"><i style=\"width:{:.1f}%\"></i></span>",
      100 * std::clamp(part, 0.0, 1.0));
}

}  // namespace

HtmlTable::HtmlTable(std::string_view id, std::string_view caption) {
  html_ = fmt::format(
      "<div class=\"scroll\" role=\"region\" aria-labelledby=\"{0}\" tabindex=\"0\">\n<table>\n"
      "<caption id=\"{0}\">{1}</caption>\n",
      id, SafeHtml(caption));
}

void HtmlTable::Open(std::string_view part) {
  if (open_ == part) return;
  if (!open_.empty()) html_ += fmt::format("</{}>\n", open_);
  if (!part.empty()) html_ += fmt::format("<{}>\n", part);
  open_ = part;
}

void HtmlTable::Span(const std::vector<std::pair<std::string, size_t>>& cells) {
  Open("thead");
  html_ += "<tr><td></td>";
  for (const auto& [text, columns] : cells) {
    html_ += fmt::format("<th scope=\"colgroup\" colspan=\"{}\" class=\"span\">{}</th>", columns,
                         SafeHtml(text));
  }
  html_ += "</tr>\n";
}

void HtmlTable::Head(const std::vector<std::string>& cells_html) {
  Open("thead");
  columns_ = cells_html.size();
  html_ += "<tr>";
  for (const std::string& cell : cells_html) {
    html_ += cell.empty() ? "<td></td>" : fmt::format("<th scope=\"col\">{}</th>", cell);
  }
  html_ += "</tr>\n";
}

void HtmlTable::Group(std::string_view text) {
  Open("");
  Open("tbody");
  html_ += fmt::format("<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"{}\">{}</th></tr>\n",
                       columns_, SafeHtml(text));
}

void HtmlTable::Row(std::string_view heading, const std::vector<std::string>& cells) {
  std::vector<std::string> html;
  for (const std::string& cell : cells) html.push_back(SafeHtml(cell));
  RowOfHtml(SafeHtml(heading), html);
}

void HtmlTable::RowOfHtml(std::string_view heading_html,
                          const std::vector<std::string>& cells_html) {
  Open("tbody");
  html_ += fmt::format("<tr><th scope=\"row\">{}</th>", heading_html);
  for (const std::string& cell : cells_html) html_ += fmt::format("<td>{}</td>", cell);
  html_ += "</tr>\n";
}

std::string HtmlTable::Finish() {
  Open("");
  return std::move(html_) + "</table>\n</div>\n";
}

std::string StackLabel(const RecordedStack& stack) {
  return SafeHtml(stack.name) +
         (stack.simulated ? " <span class=\"simulated\">SIMULATED</span>" : "") +
         (IsOnTmpfs(stack) ? " <span class=\"simulated\">DRAM (tmpfs)</span>" : "") +
         (stack.failed ? " <span class=\"failed\">FAILED</span>" : "");
}

std::string SideBySideTable(const RecordedTest& test, size_t number) {
  const std::vector<Group> groups = GroupsOf(test);
  HtmlTable table(fmt::format("side-{}", number), "Side by side");
  std::vector<std::string> head = {"<span class=\"quiet\">whole run</span>"};
  for (const Group& group : groups) {
    for (const RecordedStack* stack : group.stacks) head.push_back(StackLabel(*stack));
  }
  for (size_t i = 1; i < groups.size(); ++i) {
    head.push_back(fmt::format("<span class=\"ratio\">{}<br>by {}</span>",
                               SafeHtml(groups[i].placement), SafeHtml(groups[0].placement)));
  }
  table.Head(head);
  for (const LineGroup& lines : SideBySideLines(test)) {
    bool headed = false;
    for (const Line& line : lines.lines) {
      if (!IsMeasured(test, line)) continue;
      if (!headed) table.Group(lines.heading);
      headed = true;
      std::vector<std::string> cells;
      for (const Group& group : groups) {
        for (const RecordedStack* stack : group.stacks) {
          const std::string text = SafeHtml(line.text(line.figure(*stack)));
          cells.push_back(line.HasTooFew(*stack) ? QuietHtml(text) : text);
        }
      }
      const auto has_too_few = [&line](const Group& group) {
        return std::ranges::any_of(group.stacks,
                                   [&](const auto* stack) { return line.HasTooFew(*stack); });
      };
      for (size_t i = 1; i < groups.size(); ++i) {
        const bool judged = !has_too_few(groups[i]) && !has_too_few(groups[0]);
        cells.push_back(judged ? SafeHtml(RatioText(MeanOf(groups[i], line.figure),
                                                    MeanOf(groups[0], line.figure)))
                               : QuietHtml("too few values"));
      }
      table.RowOfHtml(SafeHtml(line.heading), cells);
    }
  }
  return table.Finish();
}

std::string PercentileTable(const RecordedTest& test, size_t number) {
  HtmlTable table(fmt::format("percentiles-{}", number), "Every measured time");
  table.Span({{"whole run", 5}, {"last minute", 3}});
  table.Head({"", "values", "median", "99 %", "99.9 %", "longest", "median", "99 %", "longest"});
  for (const RecordedStack& stack : test.stacks) {
    table.Group(stack.name + (stack.simulated ? " (SIMULATED)" : ""));
    for (size_t i = 0; i < kMetrics; ++i) {
      const Distribution& whole = stack.metrics[i].whole;
      const Distribution& last = stack.metrics[i].last_minute;
      if (whole.count == 0) continue;
      const auto cell = [](const Distribution& of, std::optional<double> value, double quantile) {
        const std::string text = SafeHtml(DurationText(value));
        const bool enough = EnoughValues(static_cast<double>(of.count), quantile);
        return !value || enough ? text : QuietHtml(text);
      };
      table.RowOfHtml(SafeHtml(kMetricTitles[i]),
                      {CountText(static_cast<double>(whole.count)), cell(whole, whole.p50_ms, 0.5),
                       cell(whole, whole.p99_ms, 0.99), cell(whole, whole.p999_ms, 0.999),
                       DurationText(whole.max_ms), cell(last, last.p50_ms, 0.5),
                       cell(last, last.p99_ms, 0.99), DurationText(last.max_ms)});
    }
  }
  return table.Finish();
}

std::string RowsTable(const RecordedTest& test, size_t number) {
  HtmlTable table(fmt::format("rows-{}", number), "Rows");
  table.Head({"", "offered", "logged", "captured", ""});
  for (const RecordedStack& stack : test.stacks) {
    for (const RecordedRows& rows : stack.rows) {
      const bool known = rows.offered && rows.logged && rows.captured;
      const bool equal = known && *rows.offered == *rows.logged && *rows.offered == *rows.captured;
      table.RowOfHtml(StackLabel(stack) + " " + SafeHtml(rows.table),
                      {CountText(AsNumber(rows.offered)), CountText(AsNumber(rows.logged)),
                       CountText(AsNumber(rows.captured)),
                       equal   ? "equal"
                       : known ? "<span class=\"failed\">DIFFERENT</span>"
                               : std::string(kNotMeasured)});
    }
  }
  return table.Finish();
}

std::string TierTable(const RecordedTest& test, size_t number) {
  double most = 1;
  for (const RecordedStack& stack : test.stacks) {
    for (const TierUse& tier : stack.tiers) most = std::max(most, tier.used.value_or(0));
  }
  HtmlTable table(fmt::format("tiers-{}", number), "Memory by tier at the end");
  table.Head({"", "in use", "", "most", "capacity", "of it resident in DRAM"});
  for (const RecordedStack& stack : test.stacks) {
    for (const TierUse& tier : stack.tiers) {
      table.RowOfHtml(
          StackLabel(stack) + "<br><span class=\"quiet\">" + SafeHtml(tier.name) +
              (tier.kind.empty() || tier.kind == tier.name ? ""
                                                           : " (" + SafeHtml(tier.kind) + ")") +
              "</span>",
          {BytesText(tier.used), Bar(tier.used.value_or(0) / most), BytesText(tier.high_water),
           BytesText(tier.capacity), BytesText(tier.resident)});
    }
  }
  return table.Finish();
}

std::string ProcessTable(const RecordedTest& test, size_t number) {
  HtmlTable table(fmt::format("processes-{}", number), "Processes");
  table.Head({"", "CPU", "cores busy", "peak memory", "voluntary switches", "involuntary switches",
              "read", "written"});
  for (const RecordedStack& stack : test.stacks) {
    table.Group(stack.name + (stack.simulated ? " (SIMULATED)" : ""));
    for (const ProcessUse& process : stack.processes) {
      const std::optional<double> ms =
          process.cpu_s ? std::optional(*process.cpu_s * 1e3) : std::nullopt;
      table.Row(process.name, {DurationText(ms),
                               process.cpu_s && test.seconds > 0
                                   ? fmt::format("{:.2f}", *process.cpu_s / test.seconds)
                                   : std::string(kNotMeasured),
                               BytesText(process.rss_max), CountText(process.voluntary_switches),
                               CountText(process.involuntary_switches),
                               BytesText(process.read_bytes), BytesText(process.written_bytes)});
    }
  }
  return table.Finish();
}

std::string ShareTable(const RecordedTest& test, size_t number) {
  if (std::none_of(test.stacks.begin(), test.stacks.end(),
                   [](const RecordedStack& stack) { return ProcessesShare(stack).has_value(); })) {
    return "";
  }
  HtmlTable table(fmt::format("shares-{}", number), "Memory of the processes, each page once");
  table.Head({"", "together", "their own", "of the page cache", "tmpfs and shared"});
  for (const RecordedStack& stack : test.stacks) {
    if (!ProcessesShare(stack)) continue;
    table.Group(stack.name + (stack.simulated ? " (SIMULATED)" : ""));
    for (const ProcessUse& process : stack.processes) {
      table.Row(process.name, {BytesText(process.pss_max), BytesText(process.pss_anonymous),
                               BytesText(process.pss_file), BytesText(process.pss_shared)});
    }
  }
  return table.Finish();
}

std::string MaximumTable(const Maximum& maximum, size_t number) {
  HtmlTable table(fmt::format("maximum-{}", number),
                  "The search for the highest rate of " + maximum.stack);
  table.Head({"updates/s", "for", "captured per second", "slowest 99 %", "outcome"});
  for (const RecordedProbe& probe : maximum.probes) {
    table.Row(CountText(probe.updates_per_s),
              {SettingText(probe.seconds * 1e3), CountText(probe.achieved_per_s),
               DurationText(probe.worst_p99_ms), probe.sustained ? "held" : probe.broke});
  }
  return table.Finish();
}

std::string EnvironmentTable(const RunFiles& run) {
  HtmlTable table("environment-table", "Where it ran");
  for (const auto& [what, text] : run.environment) table.Row(what, {text});
  return table.Finish();
}

}  // namespace tickstack::loadtest::report
