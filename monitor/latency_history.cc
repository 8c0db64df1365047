#include "monitor/latency_history.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/time.h"
#include "serve/event_json.h"

namespace tickstack::monitor {

LatencyHistory::LatencyHistory(const std::vector<std::string>& tables) {
  for (const std::string& table : tables) names_.push_back(table + "_lag");
  names_.insert(names_.end(), {"asof", "query"});
}

void LatencyHistory::Take(const Sample& sample) {
  const int64_t unix_s = (sample.end_ns + kUnixNsOfKdbEpoch) / kNsPerSecond;
  if (seconds_.empty() || seconds_.back().unix_s != unix_s) {
    seconds_.push_back({unix_s, std::vector<std::optional<int64_t>>(names_.size())});
  }
  while (seconds_.size() > kSecondsMax + 1) seconds_.pop_front();
  std::vector<std::optional<int64_t>>& slowest = seconds_.back().slowest_ns;
  const auto take = [&slowest](size_t at, const std::optional<int64_t>& ns) {
    if (ns && at < slowest.size()) slowest[at] = std::max(slowest[at].value_or(0), *ns);
  };
  const size_t tables = names_.size() - 2;
  for (size_t i = 0; i < std::min(tables, sample.tables.size()); ++i) {
    take(i, sample.tables[i].lag_ns);
  }
  take(tables, sample.asof_ns);
  take(tables + 1, sample.end_ns - sample.due_ns);
}

std::string LatencyHistory::Json(size_t seconds) const {
  std::string json = "{\"names\":[";
  for (const std::string& name : names_) {
    json += fmt::format("{}{}", name == names_.front() ? "" : ",", serve::JsonText(name));
  }
  json += "],\"seconds\":[";
  const size_t over = seconds_.empty() ? 0 : seconds_.size() - 1;
  const size_t begin = over > seconds ? over - seconds : 0;
  for (size_t i = begin; i < over; ++i) {
    json += fmt::format("{}[{}", i == begin ? "" : ",", seconds_[i].unix_s);
    for (const std::optional<int64_t>& ns : seconds_[i].slowest_ns) {
      json += ns ? fmt::format(",{:.3f}", static_cast<double>(*ns) * 1e-6) : ",null";
    }
    json += ']';
  }
  return json + "]}";
}

}  // namespace tickstack::monitor
