#include "loadtest/report/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/status.h"
#include "loadtest/report/fields.h"

namespace tickstack::loadtest::report {
namespace {

constexpr uint64_t kSummaryBytesMax = 64 << 20;
constexpr uint64_t kEnvironmentBytesMax = 1 << 20;
constexpr int64_t kFormat = 1;
constexpr size_t kClientNameMax = 64, kClientNamesMax = 400;
constexpr size_t kQuerySlicesMax = 1'000'000;  // A day of a hundred rdbs.

bool Failed(const Fields& fields) {
  const std::string outcome = fields.Text("outcome");
  if (outcome != "ok" && outcome != "failed") {
    fields.Fail("outcome", fmt::format("found \"{}\", expected ok or failed", outcome));
  }
  return outcome == "failed";
}

Distribution ReadDistribution(const Fields& fields) {
  Distribution read;
  read.count = fields.CountOrNull("count").value_or(0);
  read.p50_ms = fields.NumberOrNull("p50_ms");
  read.p99_ms = fields.NumberOrNull("p99_ms");
  read.p999_ms = fields.NumberOrNull("p999_ms");
  read.max_ms = fields.NumberOrNull("max_ms");
  return read;
}

MetricResult ReadMetric(const Fields& fields) {
  MetricResult read;
  read.whole = ReadDistribution(fields.ObjectOrEmpty("whole"));
  read.last_minute = ReadDistribution(fields.ObjectOrEmpty("last_minute"));
  fields.EachPair("histogram", [&](double upper_ms, int64_t count) {
    if (!read.histogram.empty() && upper_ms <= read.histogram.back().first) return false;
    read.histogram.emplace_back(upper_ms, count);
    return true;
  });
  return read;
}

// Names of clients and queries become parts of the page's attributes.
bool IsPlainName(std::string_view name) {
  return !name.empty() && name.size() <= kClientNameMax &&
         name.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") ==
             std::string_view::npos;
}

void ReadClients(const Fields& fields, RecordedStack& stack) {
  const Fields queries = fields.ObjectOrEmpty("queries");
  size_t pairs = 0;
  const auto check = [&](const Fields& place, const std::string& name) {
    if (!IsPlainName(name)) {
      place.Fail(name, fmt::format("expected a name of up to {} letters, digits, - and _",
                                   kClientNameMax));
    } else if (++pairs > kClientNamesMax) {
      place.Fail(name, fmt::format("expected up to {} clients and queries", kClientNamesMax));
    } else {
      return true;
    }
    return false;
  };
  fields.EachEntry("clients", [&](const std::string& name, const Fields& spec) {
    if (!check(fields, name)) return;
    RecordedClient& client = stack.clients.emplace_back();
    client.name = name;
    client.mode = spec.TextOrEmpty("mode");
    client.arrivals = spec.TextOrEmpty("arrivals");
    client.connections = spec.NumberOrNull("connections");
    client.every_ms = spec.NumberOrNull("every_ms");
    client.think_ms = spec.NumberOrNull("think_ms");
    queries.EachEntry(name, [&](const std::string& query_name, const Fields& query) {
      if (!check(queries, query_name)) return;
      RecordedQuery& read = client.queries.emplace_back();
      read.name = query_name;
      read.times = ReadMetric(query);
      read.per_minute = query.NumberOrNull("per_minute");
      read.errors = query.CountOrNull("errors").value_or(0);
      read.unanswered = query.CountOrNull("unanswered").value_or(0);
      read.errors_allowed = query.Flag("errors_allowed");
      read.first_error = query.TextOrEmpty("first_error");
      query.EachPair("slices", [&read](double median_ms, int64_t count) {
        read.slices.emplace_back(median_ms, count);
        return read.slices.size() <= kQuerySlicesMax;
      });
    });
  });
}

RecordedStack ReadStack(const Fields& fields) {
  RecordedStack stack;
  stack.name = fields.Text("name");
  stack.placement = fields.Text("placement");
  stack.simulated = fields.Flag("simulated");
  stack.rdbs = fields.CountOrNull("rdbs").value_or(1);
  stack.failed = Failed(fields);
  stack.reason = fields.TextOrEmpty("reason");
  fields.EachEntry("rows", [&](const std::string& table, const Fields& counts) {
    stack.rows.push_back({.table = table,
                          .offered = counts.CountOrNull("offered"),
                          .logged = counts.CountOrNull("logged"),
                          .captured = counts.CountOrNull("captured")});
  });
  const Fields metrics = fields.ObjectOrEmpty("metrics");
  for (size_t i = 0; i < kMetrics; ++i) {
    stack.metrics[i] = ReadMetric(metrics.ObjectOrEmpty(kMetricNames[i]));
  }
  stack.queries_per_minute = fields.NumberOrNull("queries_per_minute");
  const Fields rates = fields.ObjectOrEmpty("rates");
  stack.offered_per_s = rates.NumberOrNull("offered_per_s");
  stack.logged_per_s = rates.NumberOrNull("logged_per_s");
  stack.captured_per_s = rates.NumberOrNull("captured_per_s");
  fields.EachEntry("tiers", [&](const std::string& name, const Fields& tier) {
    stack.tiers.push_back({.name = name,
                           .kind = tier.TextOrEmpty("kind"),
                           .filesystem = tier.TextOrEmpty("filesystem"),
                           .used = tier.NumberOrNull("used"),
                           .high_water = tier.NumberOrNull("high_water"),
                           .capacity = tier.NumberOrNull("capacity"),
                           .resident = tier.NumberOrNull("resident")});
  });
  fields.EachEntry("processes", [&](const std::string& name, const Fields& process) {
    stack.processes.push_back({.name = name,
                               .rss_max = process.NumberOrNull("rss_max"),
                               .cpu_s = process.NumberOrNull("cpu_s"),
                               .voluntary_switches = process.NumberOrNull("voluntary_switches"),
                               .involuntary_switches = process.NumberOrNull("involuntary_switches"),
                               .read_bytes = process.NumberOrNull("read_bytes"),
                               .written_bytes = process.NumberOrNull("written_bytes"),
                               .pss_max = process.NumberOrNull("pss_max"),
                               .pss_anonymous = process.NumberOrNull("pss_anonymous"),
                               .pss_file = process.NumberOrNull("pss_file"),
                               .pss_shared = process.NumberOrNull("pss_shared")});
  });
  ReadClients(fields, stack);
  return stack;
}

RecordedTest ReadTest(const Fields& fields) {
  RecordedTest test;
  test.name = fields.Text("name");
  test.batch_ms = fields.Number("batch_ms", 0, 1e9);
  test.query_ms = fields.Number("query_ms", 0, 1e9);
  test.seconds = fields.Number("seconds", 0, 1e9);
  test.failed = fields.TextOrEmpty("outcome") == "failed";
  test.reason = fields.TextOrEmpty("reason");
  const Fields prestress = fields.ObjectOrEmpty("prestress");
  test.prestress_quotes = prestress.CountOrNull("quote");
  test.prestress_trades = prestress.CountOrNull("trade");
  test.relay = ReadDistribution(fields.ObjectOrEmpty("relay"));
  fields.EachObject("stacks",
                    [&](const Fields& stack) { test.stacks.push_back(ReadStack(stack)); });
  return test;
}

Maximum ReadMaximum(const Fields& fields) {
  Maximum maximum;
  maximum.stack = fields.Text("stack");
  maximum.broke = fields.TextOrEmpty("broke");
  maximum.below_ms = fields.NumberOrNull("below_ms");
  maximum.updates_per_s = fields.NumberOrNull("updates_per_s");
  maximum.achieved_per_s = fields.NumberOrNull("achieved_per_s");
  fields.EachObject("probes", [&](const Fields& probe) {
    maximum.probes.push_back({.updates_per_s = probe.Number("updates_per_s", 0, 1e12),
                              .seconds = probe.Number("seconds", 0, 1e9),
                              .sustained = probe.Flag("sustained"),
                              .achieved_per_s = probe.NumberOrNull("achieved_per_s"),
                              .worst_p99_ms = probe.NumberOrNull("worst_p99_ms"),
                              .broke = probe.TextOrEmpty("broke")});
  });
  return maximum;
}

void ReadEnvironment(const Fields& fields, RunFiles& run) {
  run.cores = fields.NumberOrNull("cores");
  run.memory_bytes = fields.NumberOrNull("memory_bytes");
  const auto add = [&run](std::string what, std::string text) {
    if (!text.empty()) run.environment.emplace_back(std::move(what), std::move(text));
  };
  add("CPU", fields.TextOrEmpty("cpu"));
  if (run.cores) add("Cores", fmt::format("{:g}", *run.cores));
  if (run.memory_bytes) add("Memory", fmt::format("{:.1f} GiB", *run.memory_bytes / 0x1p30));
  if (const auto nodes = fields.NumberOrNull("numa_nodes")) {
    add("NUMA nodes", fmt::format("{:g}", *nodes));
  }
  add("Kernel", fields.TextOrEmpty("kernel"));
  fields.EachObject("filesystems", [&](const Fields& filesystem) {
    add("File system of " + filesystem.TextOrEmpty("path"),
        filesystem.TextOrEmpty("type") + (filesystem.Flag("dax") ? ", DAX" : ", no DAX"));
  });
  fields.EachObject("simulated", [&](const Fields& medium) {
    add("SIMULATED memory, model " + medium.TextOrEmpty("model"), medium.TextOrEmpty("figures"));
  });
  fields.EachText("versions", [&](const std::string& name, const std::string& version) {
    add("Version of " + name, version);
  });
  add("Build flags", fields.TextOrEmpty("build_flags"));
  add("Commit", fields.TextOrEmpty("commit"));
}

absl::Status ReadSummary(std::string_view text, RunFiles& run) {
  FieldsDocument document("summary.json");
  TS_RETURN_IF_ERROR(document.Parse(text));
  const Fields fields = document.root();
  if (const int64_t format = fields.CountOrNull("format").value_or(0); format != kFormat) {
    fields.Fail("format", fmt::format("found {}, expected {}", format, kFormat));
    return document.status();
  }
  run.name = fields.Text("name");
  run.command = fields.TextOrEmpty("command");
  run.begin = fields.TextOrEmpty("begin");
  run.query_set = fields.TextOrEmpty("query_set");
  run.seed = fields.CountOrNull("seed");
  run.failed = Failed(fields);
  run.reason = fields.TextOrEmpty("reason");
  const Fields profile = fields.ObjectOrEmpty("profile");
  run.updates_per_s = profile.NumberOrNull("updates_per_s").value_or(0);
  run.seconds = profile.NumberOrNull("seconds").value_or(0);
  run.symbols = profile.CountOrNull("symbols");
  run.quotes_per_trade = profile.NumberOrNull("quotes_per_trade");
  fields.EachObject("tests", [&](const Fields& test) { run.tests.push_back(ReadTest(test)); });
  fields.EachObject("find_max",
                    [&](const Fields& found) { run.maxima.push_back(ReadMaximum(found)); });
  // A search for the highest rate has several tests of one name, one for each stack.
  std::set<std::pair<std::string_view, std::string_view>> names;
  for (const RecordedTest& test : run.tests) {
    for (const RecordedStack& stack : test.stacks) {
      if (names.emplace(test.name, stack.name).second) continue;
      fields.Fail("tests", fmt::format("found stack \"{}\" of test \"{}\" twice, expected names "
                                       "that differ",
                                       stack.name, test.name));
    }
  }
  return document.status();
}

}  // namespace

absl::StatusOr<RunFiles> ParseRun(std::string_view summary, std::string_view environment,
                                  const std::string& directory) {
  RunFiles run;
  run.directory = directory;
  TS_RETURN_IF_ERROR(ReadSummary(summary, run));
  FieldsDocument document("environment.json");
  TS_RETURN_IF_ERROR(document.Parse(environment));
  ReadEnvironment(document.root(), run);
  TS_RETURN_IF_ERROR(document.status());
  return run;
}

absl::StatusOr<RunFiles> ReadRun(const std::string& directory) {
  const auto text_of = [](const ByteBuffer& bytes) {
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  TS_ASSIGN_OR_RETURN(const ByteBuffer summary,
                      ReadWholeFile(directory + "/summary.json", kSummaryBytesMax));
  TS_ASSIGN_OR_RETURN(const ByteBuffer environment,
                      ReadWholeFile(directory + "/environment.json", kEnvironmentBytesMax));
  absl::StatusOr<RunFiles> run = ParseRun(text_of(summary), text_of(environment), directory);
  if (!run.ok()) return Annotate(run.status(), directory);
  return run;
}

}  // namespace tickstack::loadtest::report
