#pragma once

// One `.feed.stats[]` of the feeds of all shards.

#include <span>
#include <string>
#include <utility>

#include "table/value.h"

namespace tickstack::feed {

// Merges answers of Feed::Stats, each with the name of its shard; at least one. FeedService::Stats
// has the rules.
Value MergedStats(std::span<const std::pair<std::string, Value>> stats);

}  // namespace tickstack::feed
