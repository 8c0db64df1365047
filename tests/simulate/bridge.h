#pragma once

// A bridge that writes the rows of a cluster to a simulated Kafka (docs/operating/kafka.md), wired
// as bridge_main.cc wires it.

#include <memory>
#include <string>
#include <vector>

#include "bridge/export_service.h"
#include "tests/simulate/stack.h"
#include "tests/simulate/topics.h"
#include "tests/simulate/world.h"

namespace tickstack::simulate {

struct BridgeOptions {
  std::vector<std::string> tables;  // Empty: all.
  int32_t partitions = 1;
  size_t record_bytes = 0, batch_bytes = 0;
  int64_t linger_ns = 0;

  bool Exports(std::string_view table) const;
};

BridgeOptions DrawBridgeOptions(Random& random);

struct BridgeProgram final : Program {
  std::unique_ptr<bridge::ExportService> service;
};
// `stack`: its `tickerplant` is the one whose rows are written.
absl::StatusOr<std::unique_ptr<Program>> StartBridge(Process& process, const StackOptions& stack,
                                                     const BridgeOptions& options, Topics& topics);

}  // namespace tickstack::simulate
