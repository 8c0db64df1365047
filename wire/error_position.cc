#include "wire/error_position.h"

#include <fmt/format.h>

#include <charconv>

namespace tickstack::wire {
namespace {

constexpr char kMark = '\x1f';  // ASCII's unit separator, which no error of our own contains.

}  // namespace

std::string JoinPosition(std::string_view text, size_t position) {
  return fmt::format("{}{}{}", text, kMark, position);
}

PositionedError SplitPosition(std::string_view received) {
  const size_t mark = received.rfind(kMark);
  if (mark == std::string_view::npos) return {received, std::nullopt};
  size_t position = 0;
  const char* const end = received.data() + received.size();
  const auto [stop, error] = std::from_chars(received.data() + mark + 1, end, position);
  if (error != std::errc() || stop != end) return {received, std::nullopt};
  return {received.substr(0, mark), position};
}

}  // namespace tickstack::wire
