#include "loadtest/report/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "loadtest/report/clients.h"
#include "loadtest/report/groups.h"
#include "loadtest/report/tables.h"
#include "loadtest/report/text.h"

namespace tickstack::loadtest::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kStepsPerDecade = 12;
constexpr int kDecadesMax = 9;

// Rounds to four digits: more than a pixel can show.
Json Short(double number) {
  if (!std::isfinite(number)) return nullptr;
  if (number == 0) return 0;
  const double unit = std::pow(10, std::floor(std::log10(std::abs(number))) - 3);
  const double rounded = std::round(number / unit) * unit;
  // Converts from decimal digits again, because the multiplication leaves digits after the
  // fourth.
  return std::stod(fmt::format("{:.4g}", rounded));
}

// The position of a stack in the order of placements: the number of its placement, and its own
// number within that.
struct Place {
  const RecordedStack* stack;
  size_t index, group, nth;
};

std::vector<Place> PlacesOf(const RecordedTest& test) {
  std::vector<Place> places;
  const std::vector<Group> groups = GroupsOf(test);
  for (size_t g = 0; g < groups.size(); ++g) {
    for (size_t n = 0; n < groups[g].stacks.size(); ++n) {
      const RecordedStack* const stack = groups[g].stacks[n];
      const auto index = static_cast<size_t>(stack - test.stacks.data());
      places.push_back({.stack = stack, .index = index, .group = g, .nth = n});
    }
  }
  return places;
}

size_t UsedSlices(const TestSeries& series) {
  size_t used = 0;
  for (const StackSeries& stack : series.stacks) {
    for (const Series& values : stack.metrics) {
      for (size_t i = used; i < values.size(); ++i) {
        if (!values[i].empty()) used = i + 1;
      }
    }
  }
  return used;
}

Json CurveJson(const MetricResult& result) {
  Json curve = Json::array();
  for (const double value : QuantileCurve(result)) curve.push_back(Short(value));
  return curve;
}

Json MetricJson(const Series& series, const MetricResult& result, size_t slices) {
  Json least = Json::array(), most = Json::array(), curve = CurveJson(result);
  bool any = false;
  for (size_t i = 0; i < slices && i < series.size(); ++i) {
    const bool empty = series[i].empty();
    any = any || !empty;
    least.push_back(empty ? Json() : Short(series[i].least));
    most.push_back(empty ? Json() : Short(series[i].most));
  }
  Json json = Json::object();
  if (any) json = {{"least", std::move(least)}, {"most", std::move(most)}};
  if (!curve.empty()) json["curve"] = std::move(curve);
  return json;
}

Json StackJson(const Place& place, const StackSeries& series, size_t slices) {
  Json metrics = Json::object();
  for (size_t i = 0; i < kMetrics; ++i) {
    Json metric = MetricJson(series.metrics[i], place.stack->metrics[i], slices);
    if (!metric.empty()) metrics[std::string(kMetricNames[i])] = std::move(metric);
  }
  for (const RecordedClient& client : place.stack->clients) {
    for (const RecordedQuery& query : client.queries) {
      Json curve = CurveJson(query.times);
      if (curve.empty()) continue;
      metrics[ChartName(client.name, query.name)] = {{"curve", std::move(curve)}};
    }
  }
  Json tiers = Json::object();
  for (const auto& [tier, rdbs] : series.tiers) {
    Json used = Json::array();
    const std::vector<double> total = series.TierTotal(tier);
    for (size_t i = 0; i < slices && i < total.size(); ++i) used.push_back(Short(total[i]));
    tiers[tier] = std::move(used);
  }
  return {{"name", place.stack->name + (place.stack->simulated ? " SIM" : "")},
          {"group", place.group},
          {"nth", place.nth},
          {"metrics", std::move(metrics)},
          {"tiers", std::move(tiers)}};
}

std::string ColourKey(const RecordedTest& test) {
  std::string html = "<ul class=\"key\">";
  for (const Place& place : PlacesOf(test)) {
    html += fmt::format("<li><i class=\"c{} d{}\" aria-hidden=\"true\"></i>{}</li>",
                        place.group % 6, place.nth % 3, StackLabel(*place.stack));
  }
  return html + "</ul>\n";
}

std::string LabelOfMetric(const RecordedTest& test, Metric metric) {
  std::string text = fmt::format(", {}", kMetricTitles[static_cast<size_t>(metric)]);
  for (const RecordedStack& stack : test.stacks) {
    const Distribution& whole = stack.metric(metric).whole;
    if (whole.count == 0) continue;
    text += fmt::format("; {}{}: median {}, 99 % within {}, longest {}", stack.name,
                        stack.simulated ? " (SIMULATED)" : "", DurationText(whole.p50_ms),
                        DurationText(whole.p99_ms), DurationText(whole.max_ms));
  }
  return text;
}

std::string LabelOfTiers(const RecordedTest& test) {
  std::string text;
  for (const RecordedStack& stack : test.stacks) {
    for (const TierUse& tier : stack.tiers) {
      text += fmt::format("; {}{}, tier {}: {}", stack.name, stack.simulated ? " (SIMULATED)" : "",
                          tier.name, BytesText(tier.used));
    }
  }
  return text;
}

bool AnyMeasured(const RecordedTest& test, Metric metric) {
  return std::any_of(test.stacks.begin(), test.stacks.end(), [metric](const RecordedStack& stack) {
    return stack.metric(metric).whole.count > 0;
  });
}

// The label of a line has room only for SIM, so the chart's heading has the whole word.
std::string SimulatedMark(const RecordedTest& test) {
  std::string names;
  for (const RecordedStack& stack : test.stacks) {
    if (stack.simulated) names += (names.empty() ? "" : ", ") + SafeHtml(stack.name);
  }
  return names.empty() ? "" : fmt::format(" <span class=\"simulated\">SIMULATED: {}</span>", names);
}

struct Chart {
  std::string_view kind, title;
  std::string explanation, metrics, label;  // Plain text.
};

std::string FigureHtml(const RecordedTest& test, size_t number, const Chart& chart) {
  return fmt::format(
      "<figure class=\"chart\" data-test=\"{}\" data-kind=\"{}\" data-metrics=\"{}\">\n"
      "<figcaption><b>{}</b> <span class=\"quiet\">{}</span>{}</figcaption>\n"
      "<div class=\"plot\" role=\"img\" aria-label=\"{}{}\"></div>\n</figure>\n",
      number, chart.kind, chart.metrics, chart.title, chart.explanation, SimulatedMark(test),
      chart.title, SafeHtml(chart.label));
}

// Returns a chart for each class of clients. The page lets the reader choose the query.
std::string ClientFigures(const RecordedTest& test, size_t number) {
  std::string html;
  for (const ClientNames& client : ClientsOf(test)) {
    const std::string& name = client.client->name;
    std::string metrics, label;
    for (const std::string& query : client.queries) {
      metrics += (metrics.empty() ? "" : " ") + ChartName(name, query);
      for (const RecordedStack& stack : test.stacks) {
        const RecordedQuery* const found = FindQuery(stack, name, query);
        if (found == nullptr || found->times.whole.count == 0) continue;
        label += fmt::format("; {} of {}: median {}, 99 % within {}", query, stack.name,
                             DurationText(found->times.whole.p50_ms),
                             DurationText(found->times.whole.p99_ms));
      }
    }
    const std::string title = fmt::format("Answers to {}, distribution", name);
    html += FigureHtml(test, number,
                       {.kind = "curve",
                        .title = title,
                        .explanation = SafeHtml(ClientText(*client.client)),
                        .metrics = metrics,
                        .label = label});
  }
  return html;
}

}  // namespace

std::vector<double> QuantileCurve(const MetricResult& metric) {
  std::vector<double> curve;
  double count = 0;
  for (const auto& [upper_ms, values] : metric.histogram) count += static_cast<double>(values);
  if (count <= 0) return curve;
  const double longest = metric.whole.max_ms.value_or(metric.histogram.back().first);
  size_t bucket = 0;
  double below = static_cast<double>(metric.histogram[0].second);
  for (int k = 0; k <= kStepsPerDecade * kDecadesMax; ++k) {
    const double rest = std::pow(10, -k / kStepsPerDecade);
    if (rest * count < 1) break;  // Less than one value is longer.
    const double rank = std::max(1.0, std::ceil((1 - rest) * count));
    while (below < rank && bucket + 1 < metric.histogram.size()) {
      below += static_cast<double>(metric.histogram[++bucket].second);
    }
    curve.push_back(std::min(metric.histogram[bucket].first, longest));
  }
  curve.push_back(longest);
  return curve;
}

std::string ChartFigures(const RecordedTest& test, const TestSeries& series, size_t number) {
  const double slice_s = series.slice_s;
  std::vector<Metric> freshness;
  for (const Metric metric :
       {Metric::kQuoteBarLag, Metric::kTradeBarLag, Metric::kQuoteLag, Metric::kTradeLag}) {
    if (AnyMeasured(test, metric)) freshness.push_back(metric);
  }
  // The metric of the page's first sentence comes first.
  std::ranges::stable_partition(
      freshness, [shown = FreshnessMetric(test)](Metric metric) { return metric == shown; });
  std::vector<Metric> queries;
  for (const Metric metric : {Metric::kAsof, Metric::kQuery}) {
    if (AnyMeasured(test, metric)) queries.push_back(metric);
  }
  const auto names = [](const std::vector<Metric>& metrics) {
    std::string text;
    for (const Metric metric : metrics) {
      text += (text.empty() ? "" : " ") + std::string(kMetricNames[static_cast<size_t>(metric)]);
    }
    return text;
  };
  std::string html = ColourKey(test) + "<div class=\"charts\">\n";
  const std::string longest =
      fmt::format("the longest in every {}", SettingText(std::round(slice_s * 1e3)));
  if (!freshness.empty()) {
    const std::string label = LabelOfMetric(test, freshness[0]);
    html += FigureHtml(test, number,
                       {.kind = "time",
                        .title = "Latency over time",
                        .explanation = longest + "; dotted: the timer",
                        .metrics = names(freshness),
                        .label = label});
    html += FigureHtml(test, number,
                       {.kind = "curve",
                        .title = "Latency, distribution",
                        .explanation = "values below; dotted: the timer",
                        .metrics = names(freshness),
                        .label = label});
  }
  if (!queries.empty()) {
    html += FigureHtml(test, number,
                       {.kind = "time",
                        .title = "Query time",
                        .explanation = longest,
                        .metrics = names(queries),
                        .label = LabelOfMetric(test, queries[0])});
  }
  html += ClientFigures(test, number);
  html += FigureHtml(test, number,
                     {.kind = "tiers",
                      .title = "Memory by tier",
                      .explanation = "bytes that hold rows",
                      .metrics = "",
                      .label = LabelOfTiers(test)});
  return html + "</div>\n";
}

std::string ChartData(const RunFiles& run, const std::vector<TestSeries>& series) {
  Json titles = Json::object();
  for (size_t i = 0; i < kMetrics; ++i) {
    titles[std::string(kMetricNames[i])] = std::string(kMetricTitles[i]);
  }
  for (const RecordedTest& test : run.tests) {
    for (const ClientNames& client : ClientsOf(test)) {
      for (const std::string& query : client.queries) {
        titles[ChartName(client.client->name, query)] = query;
      }
    }
  }
  Json tests = Json::array();
  for (size_t i = 0; i < run.tests.size(); ++i) {
    const size_t slices = UsedSlices(series[i]);
    Json stacks = Json::array();
    for (const Place& place : PlacesOf(run.tests[i])) {
      stacks.push_back(StackJson(place, series[i].stacks[place.index], slices));
    }
    tests.push_back({{"batch_ms", run.tests[i].batch_ms},
                     {"slice_s", series[i].slice_s},
                     {"slices", slices},
                     {"stacks", std::move(stacks)}});
  }
  const Json data = {{"titles", std::move(titles)},
                     {"steps_per_decade", kStepsPerDecade},
                     {"tests", std::move(tests)}};
  return data.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace tickstack::loadtest::report
