#pragma once

// What a gateway exports at /metrics (serve/process_status.h).

#include <span>

#include "gateway/gateway_environment.h"
#include "gateway/gateway_main.h"
#include "serve/process_status.h"

namespace tickstack::gateway {

std::span<const serve::Metric> Metrics();

// Returns why the gateway is not ready.
serve::Reasons ReasonsOf(const serve::StatusFacts& facts);

// The environment must outlive the status.
serve::ProcessStatusOptions StatusOf(const GatewayMainOptions& options,
                                     GatewayEnvironment& environment);

}  // namespace tickstack::gateway
