#pragma once

// Definitions that are written in q: words such as `hsym`, and names in q's own namespaces `.Q`,
// `.h` and `.j`.

#include <span>
#include <string_view>

namespace tickstack::query {

struct LibraryEntry {
  std::string_view name;    // `.Q.qt`
  std::string_view source;  // An expression, usually a lambda.
};

std::span<const LibraryEntry> Library();
const LibraryEntry* FindInLibrary(std::string_view name);  // nullptr if there is none.

}  // namespace tickstack::query
