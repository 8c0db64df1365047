#pragma once

// Reads configuration keys whose values are words of a fixed set.

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/config.h"
#include "base/status.h"

namespace tickstack::cli {

template <typename T, size_t N>
using Words = std::array<std::pair<std::string_view, T>, N>;

// Reads a key whose value is one of a few words. Does not change the target if the key is absent.
template <typename T, typename Target, size_t N>
absl::Status ReadWord(const ConfigTable& table, std::string_view key, const Words<T, N>& words,
                      Target* target) {
  std::string text;
  TS_RETURN_IF_ERROR(table.Read(key, &text));
  if (text.empty() && !table.Has(key)) return absl::OkStatus();
  std::string known;
  for (const auto& [word, value] : words) {
    if (word == text) {
      *target = value;
      return absl::OkStatus();
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", word);
  }
  return table.ErrorAt(key, fmt::format("expected one of {}, found \"{}\"", known, text));
}

}  // namespace tickstack::cli
