#pragma once

#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"

namespace tickstack {

// Lets a map of std::string be searched with a std::string_view without building a string.
struct TransparentStringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return absl::HashOf(text); }
};

template <typename T>
using StringMap = absl::flat_hash_map<std::string, T, TransparentStringHash, std::equal_to<>>;
using StringSet = absl::flat_hash_set<std::string, TransparentStringHash, std::equal_to<>>;

}  // namespace tickstack
