// Reads the files of a load test's run with any bytes: summary.json, a NUL, samples.csv, a NUL,
// environment.json.
//
// It must not crash, and: a page has the built-in scripts and no others, whatever the files' texts
// are; and a run does not differ from itself.

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/check.h"
#include "fuzz/scratch_folder.h"
#include "loadtest/report/compare.h"
#include "loadtest/report/page.h"

namespace tickstack::loadtest {
namespace {

constexpr size_t kScripts = 3;  // The data, uPlot, and report.js.

std::string_view Next(std::string_view& rest) {
  const size_t end = rest.find('\0');
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return part;
}

size_t Count(std::string_view text, std::string_view what) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string_view::npos; ++at) ++count;
  return count;
}

void Run(std::string_view input) {
  static const ScratchFolder folder;
  const auto bytes = [](std::string_view text) { return std::as_bytes(std::span(text)); };
  const std::string summary = folder.Write("summary.json", bytes(Next(input)));
  folder.Add("samples.csv", bytes(Next(input)));
  folder.Add("environment.json", bytes(Next(input)));
  const std::string directory = summary.substr(0, summary.rfind('/'));

  const absl::StatusOr<std::string> page = ReportPage(directory);
  if (page.ok()) {
    const std::string_view body = std::string_view(*page).substr(page->find("<body>"));
    TS_CHECK(Count(body, "<script") == kScripts && Count(body, "</script>") == kScripts);
    TS_CHECK(Count(body, "<img") == 0 && Count(body, "<body>") == 1);
  }
  const auto comparison = report::CompareRuns(directory, directory);
  if (comparison.ok()) {
    TS_CHECK(comparison->differences == 0 && comparison->only_in_one.empty());
    report::ComparisonText(*comparison);
    report::ComparisonJson(*comparison);
  }
}

}  // namespace
}  // namespace tickstack::loadtest

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tickstack::loadtest::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
