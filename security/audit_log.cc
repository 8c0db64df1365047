#include "security/audit_log.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/logging.h"
#include "base/time.h"
#include "security/password.h"
#include "security/token_bucket.h"

namespace tickstack::security {
namespace {

constexpr double kLinesAtOnce = 100, kLinesPerSecond = 2;
constexpr size_t kTextBytesMax = 200;

// The lines of one kind.
class AuditLines {
 public:
  // Returns how many lines were withheld since the last that passed; nullopt: withhold this one.
  std::optional<uint64_t> Pass() {
    if (!LogEnabled(LogLevel::kError)) return std::nullopt;
    const std::lock_guard lock(mutex_);
    if (bucket_.Take(MonotonicNs())) return std::exchange(withheld_, 0);
    ++withheld_;
    return std::nullopt;
  }

 private:
  std::mutex mutex_;
  TokenBucket bucket_{kLinesPerSecond, kLinesAtOnce};  // Guarded by mutex_.
  uint64_t withheld_ = 0;                              // Guarded by mutex_.
};

// Names come from outside: one with a blank could forge a field.
std::string NameText(std::string_view name) {
  if (name.empty()) return "-";
  std::string text(name.substr(0, kUserNameBytesMax));
  std::ranges::replace_if(text, [](char c) { return !CheckUserName({&c, 1}).ok(); }, '?');
  return text;
}

std::string QuotedText(std::string_view what) {
  std::string text(what.substr(0, kTextBytesMax));
  std::ranges::replace(text, '"', '\'');
  return text;
}

// Writes a line whatever the level is.
template <typename... Args>
void Write(fmt::format_string<Args...> format, Args&&... args) {
  tickstack::internal::WriteLog(LogLevel::kInfo, format, fmt::make_format_args(args...));
}

}  // namespace

void AuditLogin(std::string_view user, std::string_view host) {
  static AuditLines lines;
  if (const auto withheld = lines.Pass()) {
    Write("audit login user={} host={} withheld={}", NameText(user), host, *withheld);
  }
}

void AuditRefused(std::string_view user, std::string_view host, std::string_view reason) {
  static AuditLines lines;
  if (const auto withheld = lines.Pass()) {
    Write("audit refused user={} host={} reason=\"{}\" withheld={}", NameText(user), host,
          QuotedText(reason), *withheld);
  }
}

void AuditDenied(std::string_view user, std::string_view host, std::string_view what) {
  static AuditLines lines;
  if (const auto withheld = lines.Pass()) {
    Write("audit denied user={} host={} what=\"{}\" withheld={}", NameText(user), host,
          QuotedText(what), *withheld);
  }
}

void AuditAct(std::string_view user, std::string_view host, std::string_view what) {
  static AuditLines lines;
  if (const auto withheld = lines.Pass()) {
    Write("audit act user={} host={} what=\"{}\" withheld={}", NameText(user), host,
          QuotedText(what), *withheld);
  }
}

}  // namespace tickstack::security
