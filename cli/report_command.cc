#include "cli/report_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "base/status.h"
#include "loadtest/report/compare.h"
#include "loadtest/report/page.h"

namespace tickstack::cli {

int RunReport(const std::string& run_directory) {
  const absl::Status status = loadtest::WriteReport(run_directory);
  if (!status.ok()) {
    fmt::print(stderr, "tickstack report: {}\n", Message(status));
    return EXIT_FAILURE;
  }
  fmt::print("{}/report.html\n", run_directory);
  return EXIT_SUCCESS;
}

int RunCompare(const CompareOptions& options) {
  const auto comparison = loadtest::report::CompareRuns(options.first, options.second);
  if (!comparison.ok()) {
    fmt::print(stderr, "tickstack compare: {}\n", Message(comparison.status()));
    return EXIT_FAILURE;
  }
  fmt::print("{}", options.json ? loadtest::report::ComparisonJson(*comparison)
                                : loadtest::report::ComparisonText(*comparison));
  return EXIT_SUCCESS;
}

}  // namespace tickstack::cli
