#include "wire/refusal_log.h"

#include <optional>

#include "base/logging.h"

namespace tickstack::wire {

void LogRefusal(std::string_view host, std::string_view reason) {
  static LogLimit limit;
  if (!LogEnabled(LogLevel::kError)) return;
  if (const std::optional<uint64_t> withheld = limit.Pass()) {
    tickstack::internal::WriteLog(LogLevel::kInfo,
                                  "audit refused user=- host={} reason=\"{}\" withheld={}",
                                  fmt::make_format_args(host, reason, *withheld));
  }
}

}  // namespace tickstack::wire
