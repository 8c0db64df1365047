#include "loadtest/environment_json.h"

#include <absl/base/config.h>
#include <fmt/format.h>

#include <boost/version.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/build_facts.h"
#include "base/machine.h"

namespace tickstack::loadtest {

std::string EnvironmentJson(const RunResult& run) {
  using Json = nlohmann::ordered_json;
  const Machine machine = ThisMachine();
  std::map<std::string, Json> file_systems;  // By path.
  std::map<std::string, Json> simulated;     // By model.
  for (const TestResult& test : run.tests) {
    for (const StackResult& stack : test.stacks) {
      for (const auto& [name, tier] : stack.tiers) {
        if (!tier.model.empty()) {
          simulated[tier.model] = {{"model", tier.model}, {"figures", tier.figures}};
        }
        if (tier.path.empty()) continue;
        file_systems[tier.path] = {
            {"path", tier.path}, {"type", tier.filesystem}, {"dax", tier.dax}};
      }
    }
  }
  Json list = Json::array();
  for (auto& [path, file_system] : file_systems) list.push_back(std::move(file_system));
  Json models = Json::array();
  for (auto& [name, model] : simulated) models.push_back(std::move(model));
  const Json json = {
      {"cpu", machine.cpu},
      {"cores", machine.cores},
      {"memory_bytes", machine.memory_bytes},
      {"numa_nodes", machine.numa_nodes},
      {"kernel", machine.kernel},
      {"filesystems", std::move(list)},
      {"simulated", std::move(models)},
      {"versions",
       {{"tickstack", kBuildFacts.version},
        {"compiler", __VERSION__},
        {"abseil", fmt::format("{}.{}", ABSL_LTS_RELEASE_VERSION, ABSL_LTS_RELEASE_PATCH_LEVEL)},
        {"boost", fmt::format("{}.{}.{}", BOOST_VERSION / 100'000, BOOST_VERSION / 100 % 1'000,
                              BOOST_VERSION % 100)},
        {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10'000, FMT_VERSION / 100 % 100,
                            FMT_VERSION % 100)}}},
      {"build_flags", kBuildFacts.flags},
      {"commit", kBuildFacts.commit}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tickstack::loadtest
