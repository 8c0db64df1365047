#pragma once

// `tickstack shard`: where symbols are, and a balanced map.

#include <optional>
#include <string>
#include <vector>

namespace tickstack::cli {

struct ShardOfOptions {
  std::string config;  // Path of the stack.toml, with [[shard]].
  std::vector<std::string> symbols;
};

struct ShardPlanOptions {
  std::string config;
  // Logs, and addresses of rdbs and hdbs. Their rows by symbol are added.
  std::vector<std::string> sources;
  std::optional<std::string> date;  // The day to count at hdbs.
};

// Print the result on stdout. Return the exit code: 0 done, 1 failed, 2 wrong usage.
int RunShardOf(const ShardOfOptions& options);
int RunShardPlan(const ShardPlanOptions& options);

}  // namespace tickstack::cli
