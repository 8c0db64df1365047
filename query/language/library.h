#pragma once

// What q has in its own namespaces, `.Q`, `.h` and `.j`, and what is written in q itself here.

#include <optional>
#include <span>
#include <string_view>

namespace tickstack::query {

struct LibraryEntry {
  std::string_view name;    // `.Q.qt`
  std::string_view source;  // An expression, mostly a lambda.
};

std::span<const LibraryEntry> Library();
std::optional<std::string_view> FindInLibrary(std::string_view name);

}  // namespace tickstack::query
