#include "feed/market/header_columns.h"

#include <algorithm>

#include "base/status.h"
#include "feed/market/text_fields.h"

namespace tickstack::feed::market {

HeaderColumns::HeaderColumns(std::string_view header, char delimiter) : header_(header) {
  std::vector<std::string_view> fields;
  SplitFields(header, delimiter, fields);
  names_.assign(fields.begin(), fields.end());
}

std::optional<size_t> HeaderColumns::Find(std::string_view name) const {
  const auto found = std::ranges::find(names_, name);
  if (found == names_.end()) return std::nullopt;
  return static_cast<size_t>(found - names_.begin());
}

absl::StatusOr<size_t> HeaderColumns::Need(std::string_view name) const {
  constexpr size_t kShownBytes = 300;
  const std::optional<size_t> found = Find(name);
  if (found && std::ranges::count(names_, name) == 1) return *found;
  return DataLoss("expected a column {}, found {} in the header {}", name, found ? "two" : "none",
                  header_.substr(0, kShownBytes));
}

}  // namespace tickstack::feed::market
