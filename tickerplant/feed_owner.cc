#include "tickerplant/feed_owner.h"

#include <fmt/format.h>

#include <charconv>

namespace tickstack::tickerplant {
namespace {

constexpr std::string_view kOwnerMark = ":owner:";

}  // namespace

std::string NameUnderOwner(std::string_view name, uint32_t number, std::string_view user) {
  return fmt::format("{}{}{}:{}", name, kOwnerMark, number, user);
}

FeedOwner SplitOwner(std::string_view logged) {
  const FeedOwner none{logged, 0, {}};
  const size_t at = logged.rfind(kOwnerMark);
  if (at == std::string_view::npos || at == 0) return none;
  const std::string_view rest = logged.substr(at + kOwnerMark.size());
  FeedOwner owner{logged.substr(0, at), 0, {}};
  const char* const end = rest.data() + rest.size();
  const auto [after, error] = std::from_chars(rest.data(), end, owner.number);
  if (error != std::errc() || owner.number == 0 || after == end || *after != ':') return none;
  owner.user = std::string_view(after + 1, static_cast<size_t>(end - after) - 1);
  const bool is_user = !owner.user.empty() && owner.user.find(':') == std::string_view::npos;
  return is_user ? owner : none;
}

}  // namespace tickstack::tickerplant
