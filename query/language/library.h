#pragma once

// Definitions in q's own namespaces, `.Q`, `.h` and `.j`, that are written in q.

#include <optional>
#include <span>
#include <string_view>

namespace tickstack::query {

struct LibraryEntry {
  std::string_view name;    // `.Q.qt`
  std::string_view source;  // An expression, usually a lambda.
};

std::span<const LibraryEntry> Library();
std::optional<std::string_view> FindInLibrary(std::string_view name);

}  // namespace tickstack::query
