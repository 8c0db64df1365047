#pragma once

// What a process reports about itself to queries, for its query::Environment.

#include <atomic>
#include <cstdint>

#include "query/language/environment.h"
#include "serve/query_settings.h"

namespace tickstack::serve {

// Threads: any may call Get and SetPort. SetPort is called once the port is known; queries may be
// answered earlier.
class ProcessFacts {
 public:
  void SetPort(uint16_t port) { port_.store(port, std::memory_order_relaxed); }
  // Call it before the first query.
  void SetLimits(const QuerySettings& settings) {
    facts_.threads = static_cast<int>(ServiceOptionsOf(settings, {}).helpers);
    facts_.timeout_s = static_cast<int64_t>(settings.query_timeout_s);
  }

  query::ProcessFacts Get() const {
    query::ProcessFacts facts = facts_;
    facts.port = port_.load(std::memory_order_relaxed);
    return facts;
  }

 private:
  query::ProcessFacts facts_ = query::FactsOfThisProcess();
  std::atomic<uint16_t> port_{0};
};

}  // namespace tickstack::serve
