#pragma once

// The page that a load test writes for people: DIR/report.html, one file that needs no network. It
// has failures first, then the comparison and its outcome, the paper's tables beside ours, charts,
// limits and the machine. docs/loadtest.md explains how to read it.

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tickstack::loadtest {

// Writes DIR/report.html from DIR/summary.json, environment.json and samples.csv, and replaces an
// existing one. Cost: one pass over the samples, some MiB of memory. Errors: kNotFound if a file is
// missing; kDataLoss with file, place, found and expected if one is damaged. After an error,
// nothing is written. Threads: reentrant.
absl::Status WriteReport(const std::string& run_directory);

// Returns the page as text, for tests.
absl::StatusOr<std::string> ReportPage(const std::string& run_directory);

}  // namespace tickstack::loadtest
