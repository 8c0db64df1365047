// The names of metrics follow Prometheus' conventions.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

#include "cli/process_table.h"
#include "serve/metrics.h"
#include "serve/process_status.h"

namespace tickstack::cli {
namespace {

void CheckName(const serve::Metric& metric, const std::string& name, std::set<std::string>& names) {
  SCOPED_TRACE(name);
  EXPECT_TRUE(names.insert(name).second) << "two metrics of one name";
  EXPECT_TRUE(std::ranges::all_of(
      name, [](char c) { return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_'; }));
  EXPECT_EQ(metric.type == serve::MetricType::kCounter, name.ends_with("_total"));
  if (metric.unit == "seconds" || metric.unit == "bytes") {
    EXPECT_NE(name.find(metric.unit), std::string::npos) << "the name has its unit";
  }
  EXPECT_TRUE(metric.unit != "ms" && metric.unit != "ns" && metric.unit != "KiB");
}

void CheckTexts(const serve::Metric& metric) {
  SCOPED_TRACE(metric.name);
  EXPECT_TRUE(metric.help.ends_with('.')) << metric.help;
  EXPECT_EQ(metric.help.find_first_of("\n\\|"), std::string_view::npos) << "needs no escapes";
  EXPECT_FALSE(metric.source.empty());
  EXPECT_NE(metric.scale, 0);
}

TEST(Metrics, FollowTheConventionsOfPrometheus) {
  std::set<std::string> names;
  for (const serve::Metric& metric : serve::CommonMetrics()) {
    CheckName(metric, std::string(metric.name), names);
    CheckTexts(metric);
  }
  for (const ProcessKind& kind : kProcesses) {
    EXPECT_FALSE(kind.metrics().empty()) << kind.role;
    for (const serve::Metric& metric : kind.metrics()) {
      CheckName(metric, serve::MetricPrefix(kind.role) + std::string(metric.name), names);
      CheckTexts(metric);
    }
  }
}

}  // namespace
}  // namespace tickstack::cli
