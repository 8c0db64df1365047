#include "tplog/log_identity.h"

#include "base/time.h"

namespace tickstack::tplog {

std::optional<int32_t> DayOfLog(std::string_view path) {
  constexpr size_t kDateBytes = std::string_view("yyyy.mm.dd").size();
  if (path.size() < kDateBytes) return std::nullopt;
  return ParseDate(path.substr(path.size() - kDateBytes));
}

bool IsSameLog(const LogIdentity& a, const LogIdentity& b) {
  if (!a.first_message_crc || a.first_message_crc != b.first_message_crc) return false;
  const std::optional<int32_t> day = DayOfLog(a.path);
  return a.path == b.path || (day && day == DayOfLog(b.path));
}

}  // namespace tickstack::tplog
