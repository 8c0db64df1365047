#pragma once

// Formats the monitor's output: a CSV row per sample, a progress line, and the summary in three
// forms. Times in files are in ms with six decimals, so they are exact to the ns.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "measure/clients/client_group.h"
#include "monitor/monitor.h"

namespace tickstack::monitor {

// The CSV of samples. Its columns are for the settings' tables, and for the rdb's statistics in the
// first sample; statistics that appear later are left out.
class SampleCsv {
 public:
  SampleCsv(const MonitorSettings& settings, const Sample& first);
  std::string Header() const;  // Ends with a newline, as each row does.
  std::string Row(const Sample& sample) const;

 private:
  std::vector<std::string> tables_;
  std::vector<std::string> rdb_names_;
};

// `trade 1,234,567 rows lag 1.2 ms | quote ... | asof SPY 812 rows 0.4 ms | query 0.9 ms |
// dram 1.5 GiB | pmem 20 GiB of 64 GiB | clients 1,234 answers`.
struct ClientCounts {
  uint64_t answers = 0, errors = 0;
};
std::string ProgressLine(const Monitor& monitor,
                         std::optional<ClientCounts> clients = std::nullopt);

struct Summary {
  std::string name;
  std::string rdb;  // Its address.
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  const Monitor* monitor = nullptr;
  std::vector<measure::ClientResult> clients = {};
};
std::string SummaryText(const Summary& summary);
// Has two lines per metric: `whole` and `last_minute`.
std::string SummaryCsv(const Summary& summary);
std::string SummaryJson(const Summary& summary);
// Returns a distribution with its counters, so that those of several monitors can be merged.

}  // namespace tickstack::monitor
