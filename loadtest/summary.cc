#include "loadtest/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/human_text.h"
#include "base/time.h"
#include "loadtest/client_summary.h"
#include "loadtest/measured_json.h"
#include "loadtest/report/compare_spread.h"
#include "loadtest/report/noise.h"

namespace tickstack::loadtest {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNsPerMs = 1e6;

double Ms(int64_t ns) { return static_cast<double>(ns) / kNsPerMs; }

// Returns `2026-03-09T15:30:00Z`.
std::string IsoTime(int64_t ns) {
  std::string text = FormatTimestamp(ns).substr(0, 19);
  text[4] = text[7] = '-';
  text[10] = 'T';
  return text + "Z";
}

std::string_view Outcome(const std::string& failure) { return failure.empty() ? "ok" : "failed"; }

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

// JSON readers do not all keep 64-bit integers, so a checksum is hexadecimal text.
Json ChecksumJson(const std::optional<uint64_t>& sum) {
  return sum ? Json(fmt::format("{:016x}", *sum)) : Json();
}

Json ProfileJson(const Profile& profile) {
  return {{"name", profile.name},
          {"updates_per_s", profile.UpdatesPerSecond()},
          {"seconds", profile.seconds},
          {"symbols", profile.symbols},
          {"quotes_per_trade", profile.quotes_per_trade}};
}

Json StackJson(const StackResult& stack) {
  Json json = {{"name", stack.spec.name},           {"placement", stack.spec.placement.text},
               {"simulated", stack.simulated},      {"rdbs", stack.rdbs},
               {"outcome", Outcome(stack.failure)}, {"reason", stack.failure}};
  Json& rows = json["rows"] = Json::object();
  for (const auto& [table, counts] : stack.tables) {
    rows[table] = {{"offered", counts.offered},
                   {"logged", counts.logged},
                   {"captured", counts.captured},
                   {"checksum", ChecksumJson(counts.checksum)},
                   {"prestress_checksum", ChecksumJson(counts.prestress_checksum)}};
  }
  Json& metrics = json["metrics"] = Json::object();
  for (size_t metric = 0; metric < kMetrics; ++metric) {
    metrics[std::string(kMetricNames[metric])] = MeasuredJson(stack.measured[metric]);
  }
  json["queries_per_minute"] = stack.queries_per_minute;
  AddClients(stack, json);
  json["rates"] = {{"offered_per_s", stack.offered_per_s},
                   {"logged_per_s", stack.logged_per_s},
                   {"captured_per_s", stack.captured_per_s}};
  Json& tiers = json["tiers"] = Json::object();
  for (const auto& [name, tier] : stack.tiers) {
    tiers[name] = {{"kind", tier.kind},
                   {"model", tier.model},
                   {"filesystem", tier.filesystem},
                   {"used", OrNull(tier.used)},
                   {"high_water", OrNull(tier.high_water)},
                   {"capacity", OrNull(tier.capacity)},
                   {"resident", OrNull(tier.resident)}};
  }
  Json& processes = json["processes"] = Json::object();
  for (const auto& [name, process] : stack.processes) {
    const auto share = [&process](uint64_t ProcessShare::* bytes) {
      return process.share ? Json((*process.share).*bytes) : Json();
    };
    processes[name] = {{"rss_max", process.rss_bytes_max},
                       {"pss_max", share(&ProcessShare::bytes)},
                       {"pss_anonymous", share(&ProcessShare::anonymous_bytes)},
                       {"pss_file", share(&ProcessShare::file_bytes)},
                       {"pss_shared", share(&ProcessShare::shared_bytes)},
                       {"cpu_s", process.used.cpu_s},
                       {"voluntary_switches", process.used.voluntary_switches},
                       {"involuntary_switches", process.used.involuntary_switches},
                       {"read_bytes", process.used.read_bytes},
                       {"written_bytes", process.used.written_bytes}};
  }
  return json;
}

Json MaximumJson(const FoundMaximum& maximum) {
  Json probes = Json::array();
  for (const Probe& probe : maximum.probes) {
    probes.push_back({{"updates_per_s", probe.updates_per_s},
                      {"seconds", probe.seconds},
                      {"sustained", probe.sustained},
                      {"broke", probe.broke},
                      {"achieved_per_s", probe.achieved_per_s},
                      {"worst_p99_ms", OrNull(probe.worst_p99_ms)}});
  }
  return {{"stack", maximum.stack},
          {"below_ms", maximum.below_ms},
          {"updates_per_s", maximum.updates_per_s},
          {"achieved_per_s", maximum.achieved_per_s},
          {"broke", maximum.broke},
          {"probes", std::move(probes)}};
}

std::string CsvText(std::string_view text) {
  if (text.find_first_of(",\"\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string MsCell(const Histogram& histogram, double percentile) {
  return histogram.Count() == 0
             ? ""
             : fmt::format("{:.6f}", Ms(histogram.ValueAtPercentile(percentile)));
}

// Returns the longest latency of the last minute, until a tick could be queried and was in its
// bars. The paper's ends when it was in the bars, which followed the rows there; here bars can come
// first.
const Histogram& LongestLatency(const StackResult& stack) {
  const Histogram* worst = nullptr;
  for (const Metric metric : {kTradeLag, kQuoteLag, kTradeBarLag, kQuoteBarLag}) {
    const Histogram& lag = stack.measured[metric].last_minute;
    if (worst == nullptr || lag.Max() > worst->Max()) worst = &lag;
  }
  return *worst;
}

uint64_t RdbMemory(const StackResult& stack) {
  uint64_t bytes = 0;
  for (const auto& [name, process] : stack.processes) {
    if (process.role == "rdb") bytes += process.rss_bytes_max;
  }
  return bytes;
}

uint64_t TierUsed(const StackResult& stack, bool dram) {
  uint64_t bytes = 0;
  for (const auto& [name, tier] : stack.tiers) {
    if ((tier.kind == "dram") == dram) bytes += tier.used.value_or(0);
  }
  return bytes;
}

// A line of the side-by-side table.
struct Line {
  std::string label;
  std::vector<std::optional<double>> values;
  std::string (*text)(double);
  std::vector<bool> too_few = {};  // By stack: chance decides about the value.
};

std::string CountText(double value) { return Thousands(static_cast<int64_t>(value)); }
std::string SecondsText(double value) { return fmt::format("{:.1f} s", value); }

template <typename Get>
Line LineOf(const TestResult& test, std::string label, std::string (*text)(double), Get get) {
  Line line{std::move(label), {}, text};
  for (const StackResult& stack : test.stacks) line.values.push_back(get(stack));
  return line;
}

std::optional<double> AtPercentile(const Histogram& histogram, double percentile) {
  if (histogram.Count() == 0) return std::nullopt;
  return Ms(histogram.ValueAtPercentile(percentile));
}

// True if so few values lie beyond the percentile that chance decides about it.
bool HasTooFew(const Histogram& histogram, double percentile) {
  return percentile < 100 && histogram.Count() > 0 &&
         !report::EnoughValues(static_cast<double>(histogram.Count()), percentile / 100);
}

// True if its second tier is a tmpfs, which is DRAM.
bool IsOnTmpfs(const StackResult& stack) {
  return !stack.simulated && std::ranges::any_of(stack.tiers, [](const auto& named) {
    return named.second.kind != "dram" && named.second.filesystem == "tmpfs";
  });
}

// Adds what clients asked, by client and query. All stacks of a test have the same clients.
void AddClientLines(const TestResult& test, std::vector<Line>& lines) {
  using Value = std::optional<double>;
  for (const ClientResult& client : test.stacks.front().clients) {
    const std::string name = client.name;
    lines.push_back(
        LineOf(test, name + " answers/min", CountText, [name](const StackResult& s) -> Value {
          const ClientResult* const found = FindClient(s, name);
          if (found == nullptr) return std::nullopt;
          double per_minute = 0;
          for (const auto& [query, result] : found->queries) per_minute += result.per_minute;
          return per_minute;
        }));
    for (const auto& named : client.queries) {
      const std::string query = named.first;
      for (const auto& [percentile, word] : {std::pair{50.0, "p50"}, std::pair{99.0, "p99"}}) {
        const double at = percentile;
        lines.push_back(LineOf(test, fmt::format("  {} {}", query, word), MsText,
                               [name, query, at](const StackResult& s) -> Value {
                                 const QueryResult* const found = FindQuery(s, name, query);
                                 if (found == nullptr) return std::nullopt;
                                 return AtPercentile(found->times.whole, at);
                               }));
        for (const StackResult& stack : test.stacks) {
          const QueryResult* const found = FindQuery(stack, name, query);
          lines.back().too_few.push_back(found != nullptr && HasTooFew(found->times.whole, at));
        }
      }
    }
  }
}

std::vector<Line> LinesOf(const TestResult& test) {
  std::vector<Line> lines;
  using Value = std::optional<double>;
  lines.push_back(
      LineOf(test, "rdbs", CountText, [](const StackResult& s) -> Value { return s.rdbs; }));
  for (const char* table : {"quote", "trade"}) {
    lines.push_back(LineOf(test, fmt::format("{}s captured", table), CountText,
                           [table](const StackResult& s) -> Value {
                             const auto found = s.tables.find(table);
                             if (found == s.tables.end()) return std::nullopt;
                             return static_cast<double>(found->second.captured);
                           }));
  }
  lines.push_back(LineOf(test, "rows/s", CountText,
                         [](const StackResult& s) -> Value { return s.captured_per_s; }));
  constexpr std::pair<Metric, const char*> kShown[] = {
      {kQuoteLag, "quote"},        {kTradeLag, "trade"}, {kQuoteBarLag, "quote bar"},
      {kTradeBarLag, "trade bar"}, {kAsof, "asof join"}, {kQuery, "all queries"}};
  for (const auto& [metric, name] : kShown) {
    for (const auto& [percentile, word] :
         {std::pair{50.0, "p50"}, std::pair{99.0, "p99"}, std::pair{100.0, "max"}}) {
      const Metric which = metric;
      const double at = percentile;
      lines.push_back(LineOf(
          test, fmt::format("{} {}", name, word), MsText,
          [which, at](const StackResult& s) { return AtPercentile(s.measured[which].whole, at); }));
      for (const StackResult& stack : test.stacks) {
        lines.back().too_few.push_back(HasTooFew(stack.measured[which].whole, at));
      }
    }
  }
  lines.push_back(LineOf(test, "queries a minute", CountText,
                         [](const StackResult& s) -> Value { return s.queries_per_minute; }));
  AddClientLines(test, lines);
  lines.push_back(LineOf(test, "rows in DRAM", BytesText, [](const StackResult& s) -> Value {
    return static_cast<double>(TierUsed(s, true));
  }));
  lines.push_back(LineOf(test, "in other tiers", BytesText, [](const StackResult& s) -> Value {
    return static_cast<double>(TierUsed(s, false));
  }));
  lines.push_back(LineOf(test, "rdb CPU", SecondsText, [](const StackResult& s) -> Value {
    double cpu_s = 0;
    for (const auto& [name, process] : s.processes) {
      if (process.role == "rdb") cpu_s += process.used.cpu_s;
    }
    return cpu_s;
  }));
  return lines;
}

std::string RatioText(const std::optional<double>& value, const std::optional<double>& first) {
  if (!value || !first || *first <= 0) return "";
  return fmt::format("x{:.2f}", *value / *first);
}

}  // namespace

std::string SummaryJson(const RunResult& run) {
  Json json = {{"format", 1},
               {"name", run.profile.name},
               {"command", run.command},
               {"seed", run.profile.seed},
               {"begin", IsoTime(run.begin_ns)},
               {"outcome", Outcome(run.failure)},
               {"reason", run.failure},
               {"profile", ProfileJson(run.profile)},
               {"query_set", run.queries}};
  Json& tests = json["tests"] = Json::array();
  for (const TestResult& test : run.tests) {
    Json stacks = Json::array();
    for (const StackResult& stack : test.stacks) stacks.push_back(StackJson(stack));
    tests.push_back(
        {{"name", test.spec.name},
         {"batch_ms", test.spec.batch_ms},
         {"query_ms", test.spec.query_ms},
         {"seconds", test.spec.profile.seconds},
         {"outcome", Outcome(test.failure)},
         {"reason", test.failure},
         {"prestress",
          {{"quote", test.spec.prestress.quotes}, {"trade", test.spec.prestress.trades}}},
         {"relay", test.relay ? SpanJson(*test.relay) : Json()},
         {"stacks", std::move(stacks)}});
  }
  if (!run.maxima.empty()) {
    Json& maxima = json["find_max"] = Json::array();
    for (const FoundMaximum& maximum : run.maxima) maxima.push_back(MaximumJson(maximum));
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string SummaryCsv(const RunResult& run) {
  std::string csv =
      "test,stack,placement,rdbs,outcome,tickerplant_ms,query_ms,max_latency_ms,memory_bytes,"
      "query_mean_ms,queries_per_minute,updates_per_s,offered,logged,captured";
  for (const std::string_view metric : kMetricNames) {
    for (const char* value : {"p50", "p99", "p999", "max"}) {
      csv += fmt::format(",{}_{}_ms", metric, value);
    }
  }
  csv += ",rdb_rss_bytes,rdb_dram_bytes,rdb_other_bytes,simulated";
  csv += std::string(kClientColumns) + "\n";
  for (const TestResult& test : run.tests) {
    for (const StackResult& stack : test.stacks) {
      int64_t offered = 0, logged = 0, captured = 0;
      for (const auto& [table, rows] : stack.tables) {
        offered += rows.offered;
        logged += rows.logged;
        captured += rows.captured;
      }
      const Histogram& query = stack.measured[kQuery].last_minute;
      csv +=
          fmt::format("{},{},{},{},{},{},{},{},{},{},{:.1f},{:.1f},{},{},{}",
                      CsvText(test.spec.name), stack.spec.name, CsvText(stack.spec.placement.text),
                      stack.rdbs, Outcome(stack.failure), test.spec.batch_ms, test.spec.query_ms,
                      MsCell(LongestLatency(stack), 100), TierUsed(stack, true),
                      query.Count() == 0 ? "" : fmt::format("{:.6f}", query.Mean() / kNsPerMs),
                      stack.queries_per_minute, stack.captured_per_s, offered, logged, captured);
      for (const Measured& measured : stack.measured) {
        for (const double percentile : {50.0, 99.0, 99.9, 100.0}) {
          csv += "," + MsCell(measured.whole, percentile);
        }
      }
      csv += fmt::format(",{},{},{},{}{}\n", RdbMemory(stack), TierUsed(stack, true),
                         TierUsed(stack, false), stack.simulated, ClientCells(stack));
    }
  }
  return csv;
}

std::string SamplesCsv(const RunResult& run) {
  std::set<std::string> tiers;
  for (const TestResult& test : run.tests) {
    for (const StackResult& stack : test.stacks) {
      for (const auto& [name, tier] : stack.tiers) tiers.insert(name);
    }
  }
  std::string csv = "test,stack,rdb,time_s";
  for (const std::string_view metric : kMetricNames) csv += fmt::format(",{}_ms", metric);
  csv += ",rows_captured,rss_bytes,cpu_s";
  for (const std::string& tier : tiers) csv += fmt::format(",tier.{}.used", tier);
  csv += "\n";
  const auto cell = [](const auto& value) { return value ? fmt::format("{}", *value) : ""; };
  for (const TestResult& test : run.tests) {
    for (const StackResult& stack : test.stacks) {
      for (const SampleRow& row : stack.samples) {
        csv += fmt::format("{},{},{},{:.3f}", CsvText(test.spec.name), stack.spec.name, row.rdb,
                           row.time_s);
        for (const std::optional<double>& ms : row.ms) {
          csv += ms ? fmt::format(",{:.6f}", *ms) : ",";
        }
        csv += fmt::format(",{},{},{}", cell(row.rows_captured), cell(row.rss_bytes),
                           row.cpu_s ? fmt::format("{:.2f}", *row.cpu_s) : "");
        for (const std::string& tier : tiers) {
          const auto used = row.tier_used.find(tier);
          csv += used == row.tier_used.end() ? "," : fmt::format(",{:.0f}", used->second);
        }
        csv += "\n";
      }
    }
  }
  return csv;
}

std::string RelayComparison(const Histogram& relay) {
  const auto ms = [&relay](double percentile) {
    return MsText(Ms(relay.ValueAtPercentile(percentile)));
  };
  const bool noisy = relay.Count() > 0 && report::IsNoisy(Ms(relay.ValueAtPercentile(99)));
  return fmt::format("a bare relay beside them: p50 {}, p99 {}, max {} ({} messages){}", ms(50),
                     ms(99), ms(100), Thousands(static_cast<int64_t>(relay.Count())),
                     noisy ? ": NOISY MACHINE, every latency shows that" : "");
}

std::string EqualRows(const TestResult& test) {
  std::string rows;
  int rdbs = 0;
  for (const StackResult& stack : test.stacks) rdbs += stack.rdbs;
  for (const auto& [table, counts] : test.stacks.front().tables) {
    rows += fmt::format("{}{} of {}", rows.empty() ? "" : ", ", Thousands(counts.captured), table);
  }
  return fmt::format("{}: offered, logged and captured are equal, and the same rows in {} rdb{}",
                     rows, rdbs, rdbs == 1 ? "" : "s");
}

std::string SideBySide(const TestResult& test) {
  constexpr size_t kLabelMin = 18, kColumn = 16, kRatio = 8;
  const std::vector<Line> lines = LinesOf(test);
  size_t label = kLabelMin;
  for (const Line& line : lines) label = std::max(label, line.label.size() + 1);
  std::string text = fmt::format("{:<{}}", test.spec.name, label);
  for (size_t i = 0; i < test.stacks.size(); ++i) {
    text += fmt::format("{:>{}}{:>{}}", test.stacks[i].spec.name, kColumn, "", i == 0 ? 0 : kRatio);
  }
  text += '\n';
  const auto mark_of = [](const StackResult& stack) {
    return stack.simulated ? "SIMULATED" : IsOnTmpfs(stack) ? "DRAM (tmpfs)" : "";
  };
  if (std::ranges::any_of(test.stacks,
                          [&](const StackResult& stack) { return *mark_of(stack) != 0; })) {
    text += fmt::format("{:<{}}", "", label);
    for (size_t i = 0; i < test.stacks.size(); ++i) {
      text +=
          fmt::format("{:>{}}{:>{}}", mark_of(test.stacks[i]), kColumn, "", i == 0 ? 0 : kRatio);
    }
    text += '\n';
  }
  bool has_too_few = false;
  for (const Line& line : lines) {
    const bool any = std::any_of(line.values.begin(), line.values.end(),
                                 [](const auto& value) { return value && *value != 0; });
    if (!any) continue;
    text += fmt::format("{:<{}}", line.label, label);
    for (size_t i = 0; i < line.values.size(); ++i) {
      const bool few = !line.too_few.empty() && line.too_few[i];
      const bool judged = !few && (line.too_few.empty() || !line.too_few[0]);
      has_too_few = has_too_few || few;
      const std::string value = line.values[i] ? line.text(*line.values[i]) : "-";
      text += fmt::format("{:>{}}", few ? "(" + value + ")" : value, kColumn);
      const std::string ratio = judged ? RatioText(line.values[i], line.values[0]) : "";
      if (i > 0) text += fmt::format("{:>{}}", ratio, kRatio);
    }
    text += '\n';
  }
  if (has_too_few) text += "(in brackets: too few values, chance decides about them)\n";
  return text;
}

}  // namespace tickstack::loadtest
