#pragma once

// The page that a load test leaves for people: DIR/report.html, one file without a network, with
// what was compared and what came out on top, failures before everything else, the paper's tables
// beside ours, charts, limits and the machine. docs/loadtest.md tells how to read it.

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tickstack::loadtest {

// Makes DIR/report.html from DIR/summary.json, environment.json and samples.csv, replacing one that
// is there. Cost: one pass over the samples, some MiB of memory. Errors: kNotFound if a file is
// missing, kDataLoss with file, place, found and expected if one is damaged; then nothing is
// written. Threads: reentrant.
absl::Status WriteReport(const std::string& run_directory);

// The page as a text, for tests.
absl::StatusOr<std::string> ReportPage(const std::string& run_directory);

}  // namespace tickstack::loadtest
