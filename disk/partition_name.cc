#include "disk/partition_name.h"

#include <fmt/format.h>

#include <charconv>

#include "base/time.h"

namespace tickstack::disk {
namespace {

// Parses all of `text` as a number without a sign.
std::optional<int64_t> Number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool all = error == std::errc() && end == text.data() + text.size();
  if (!all || text[0] == '-') return std::nullopt;
  return value;
}

}  // namespace

std::string_view NameOf(PartitionKind kind) {
  switch (kind) {
    case PartitionKind::kDate:
      return "date";
    case PartitionKind::kMonth:
      return "month";
    case PartitionKind::kYear:
      return "year";
    case PartitionKind::kInt:
      break;
  }
  return "int";
}

Type TypeOf(PartitionKind kind) {
  switch (kind) {
    case PartitionKind::kDate:
      return Type::kDate;
    case PartitionKind::kMonth:
      return Type::kMonth;
    case PartitionKind::kYear:
      return Type::kInt;
    case PartitionKind::kInt:
      break;
  }
  return Type::kLong;
}

std::optional<PartitionName> ParsePartitionName(std::string_view name) {
  if (name.empty()) return std::nullopt;
  if (name.size() == 10 && name[4] == '.' && name[7] == '.') {
    const std::optional<int32_t> days = ParseDate(name);
    if (!days) return std::nullopt;
    return PartitionName{PartitionKind::kDate, *days};
  }
  if (name.size() == 7 && name[4] == '.') {
    const std::optional<int64_t> year = Number(name.substr(0, 4));
    const std::optional<int64_t> month = Number(name.substr(5));
    if (!year || !month || *month < 1 || *month > 12) return std::nullopt;
    return PartitionName{PartitionKind::kMonth, (*year - 2000) * 12 + *month - 1};
  }
  const std::optional<int64_t> number = Number(name);
  if (!number) return std::nullopt;
  return PartitionName{name.size() == 4 ? PartitionKind::kYear : PartitionKind::kInt, *number};
}

std::string FormatPartition(PartitionKind kind, int64_t value) {
  switch (kind) {
    case PartitionKind::kDate:
      return FormatDate(static_cast<int32_t>(value));
    case PartitionKind::kMonth: {
      const int64_t months = value + 2000 * 12;
      return fmt::format("{:04}.{:02}", months / 12, months % 12 + 1);
    }
    case PartitionKind::kYear:
      return fmt::format("{:04}", value);
    case PartitionKind::kInt:
      break;
  }
  return fmt::format("{}", value);
}

}  // namespace tickstack::disk
