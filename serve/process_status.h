#pragma once

// What a process answers at /metrics, /healthz, /readyz and /events (wire/status_pages.h), made of
// its table of metrics, its statistics, and its reasons for not being ready.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interchange/parquet.h"
#include "serve/health.h"
#include "serve/metrics.h"
#include "serve/page_files.h"
#include "wire/status_pages.h"

namespace tickstack::serve {

// Metrics that every process has. Their names have no prefix.
std::span<const Metric> CommonMetrics();

// Returns the prefix of a process's own metrics: `tickstack_rdb_`.
std::string MetricPrefix(std::string_view role);

struct ProcessStatusOptions {
  std::string_view role;
  std::string name = {};  // The process's name, in events.
  std::span<const Metric> metrics;
  // Returns the statistics. Called on the loop of the process's server, so it must be quick.
  std::function<StatusFacts()> facts;
  // Returns why the process is not ready, apart from its disks. Called on HTTP's thread; a function
  // of the facts only.
  std::function<Reasons(const StatusFacts&, const HealthLimits&)> reasons;
  // Returns which of the process's other threads do not respond; may be empty. Called on the loop.
  std::function<Reasons()> silent_threads = nullptr;
  // Returns members of events that only this process has, as JSON that begins with a comma; may be
  // empty. With true, for a new listener, they include the history. Called on the loop.
  std::function<std::string(bool)> more_json = nullptr;
  std::vector<WatchedDisk> disks = {};
  HealthLimits limits = {};
};

// Must outlive the process's server, except that pages which are being rendered keep what they
// need. Threads: the loop of the process's server.
class ProcessStatus final : public wire::StatusSource {
 public:
  explicit ProcessStatus(ProcessStatusOptions options);
  Render Collect(wire::StatusPage page) override;
  std::span<const wire::PageFile> Files() const override { return PageFiles(); }
  absl::StatusOr<std::string> FormatParquet(const Value& table) const override {
    return interchange::FormatParquet(table);
  }

 private:
  struct Common;  // Shared with the pages that are being rendered.
  const std::shared_ptr<const Common> common_;
};

}  // namespace tickstack::serve
