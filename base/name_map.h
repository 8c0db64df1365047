#pragma once

#include <functional>
#include <string>

#include "absl/container/btree_map.h"

namespace tickstack {

// A map by the names of tables, feeds or columns. It can be searched with a std::string_view. Its
// order is that of the names: what a process sends, writes and reports must not depend on where its
// memory lies, as the order of a hash table does.
template <typename T>
using NameMap = absl::btree_map<std::string, T, std::less<>>;

}  // namespace tickstack
