#pragma once

#include <string>

#include "loadtest/summary.h"

namespace tickstack::loadtest {

// environment.json: the machine, the file systems that tiers were on, and what this program is.
std::string EnvironmentJson(const RunResult& run);

}  // namespace tickstack::loadtest
