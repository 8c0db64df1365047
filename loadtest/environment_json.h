#pragma once

#include <string>

#include "loadtest/summary.h"

namespace tickstack::loadtest {

// Returns environment.json: the machine, the file systems of the tiers, and how this program was
// built.
std::string EnvironmentJson(const RunResult& run);

}  // namespace tickstack::loadtest
