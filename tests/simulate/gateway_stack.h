#pragma once

// The processes behind a gateway that answer queries, and the gateway, wired as their mains wire
// them. Queries are evaluated by threads of these processes.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateway/gateway_environment.h"
#include "hdb/hdb.h"
#include "hdb/hdb_environment.h"
#include "rdb/intake.h"
#include "rdb/rdb_environment.h"
#include "serve/query_service.h"
#include "tests/simulate/stack.h"

namespace tickstack::simulate {

inline constexpr int kRdbPorts[] = {5011, 5016};
inline constexpr int kHdbPort = 5012;
inline constexpr int kGatewayPort = 5015;

struct GatewayOptions {
  StackOptions stack;
  double query_timeout_s = 3;
  double hedge_ms = 250;
  int query_threads = 2;  // Each process has as many.
  int64_t retry_ns = 5 * kNsPerSecond;
  int64_t hdb_timeout_ns = 10 * kNsPerSecond;
};
GatewayOptions DrawGatewayOptions(Random& random, std::string folder);

// An rdb that answers queries. The first one writes the days that end.
struct ServingRdbProgram final : Program {
  std::unique_ptr<mem::Tier> tier;
  std::unique_ptr<rdb::Rdb> rdb;
  std::unique_ptr<rdb::EndOfDay> end_of_day;
  std::unique_ptr<rdb::RdbEnvironment> environment;
  std::unique_ptr<rdb::Intake> intake;
  std::unique_ptr<serve::QueryService> service;
};
absl::StatusOr<std::unique_ptr<Program>> StartServingRdb(Process& process,
                                                         const GatewayOptions& options,
                                                         size_t number);

struct HdbProgram final : Program {
  std::unique_ptr<hdb::Hdb> hdb;
  std::unique_ptr<hdb::HdbEnvironment> environment;
  std::unique_ptr<serve::QueryService> service;

  std::vector<int32_t> Days() const;  // Those that queries see.
};
absl::StatusOr<std::unique_ptr<Program>> StartHdb(Process& process, const GatewayOptions& options);

struct GatewayProgram final : Program {
  std::unique_ptr<gateway::GatewayEnvironment> environment;
  std::unique_ptr<serve::QueryService> service;
};
absl::StatusOr<std::unique_ptr<Program>> StartGateway(Process& process,
                                                      const GatewayOptions& options);

}  // namespace tickstack::simulate
