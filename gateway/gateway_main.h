#pragma once

// The process of the gateway: its options, and the function that the command line calls.

#include <string>
#include <vector>

#include "serve/health.h"
#include "serve/query_settings.h"
#include "wire/listener_options.h"

namespace tickstack::gateway {

struct GatewayMainOptions : serve::QuerySettings {
  GatewayMainOptions() {
    query_threads = 16;  // They mostly wait for answers.
    query_nice = 0;
  }

  std::string name = "gateway";
  wire::ListenerOptions listener;
  serve::HealthLimits health;
  std::vector<std::string> rdbs;  // Addresses; their answers are the same.
  // Rdbs for questions of `urgent_users`; the others go to `rdbs`. Each is asked for both if there
  // is no other.
  std::vector<std::string> urgent_rdbs;
  std::vector<std::string> urgent_users;
  std::vector<std::string> hdbs;
  double hedge_ms = 250;  // See ReplicaOptions::hedge_ns.
};

// Runs until SIGTERM or SIGINT and returns 0; 1 if it could not listen. Processes that do not
// answer are asked again with each request. Blocks.
int RunGateway(const GatewayMainOptions& options);

}  // namespace tickstack::gateway
