#include "security/login_backoff.h"

#include <fmt/format.h>

#include <algorithm>

#include "wire/places.h"

namespace tickstack::security {
namespace {

constexpr int64_t kForgottenAfterNs = 600 * kNsPerSecond;
constexpr int64_t kTrustedNs = int64_t{24} * 3600 * kNsPerSecond;
constexpr int64_t kFirstPauseNs = kNsPerSecond;

// A blank is in no address, so keys of different kinds differ.
std::string KeyOfPair(std::string_view user, std::string_view address) {
  return fmt::format("{} {}", address, user);
}
std::string KeyOfAddress(std::string_view address) { return fmt::format("address {}", address); }
std::string KeyOfUser(std::string_view user) { return fmt::format("user {}", user); }

}  // namespace

struct LoginBackoff::Rule {
  uint32_t free;
  int64_t longest_ns;
};

int64_t LoginBackoff::WaitOf(const std::string& key, const Rule& rule, int64_t now_ns) const {
  const auto found = counts_.find(key);
  if (found == counts_.end() || found->second.failures < rule.free) return 0;
  const uint32_t doublings = std::min<uint32_t>(found->second.failures - rule.free, 16);
  const int64_t pause_ns = std::min(kFirstPauseNs << doublings, rule.longest_ns);
  return std::max<int64_t>(0, found->second.last_ns + pause_ns - now_ns);
}

int64_t LoginBackoff::WaitNs(std::string_view user, std::string_view address, bool known,
                             int64_t now_ns) const {
  constexpr Rule kPair{5, 60 * kNsPerSecond}, kAddress{20, 60 * kNsPerSecond};
  constexpr Rule kUser{100, 5 * kNsPerSecond};
  int64_t wait_ns = WaitOf(KeyOfPair(user, address), kPair, now_ns);
  if (!wire::IsThisMachine(address)) {
    wait_ns = std::max(wait_ns, WaitOf(KeyOfAddress(address), kAddress, now_ns));
  }
  if (IsTrusted(user, address, now_ns)) return wait_ns;
  return known ? wait_ns : std::max(wait_ns, WaitOf(KeyOfUser(user), kUser, now_ns));
}

void LoginBackoff::OnFailure(std::string_view user, std::string_view address, int64_t now_ns) {
  trusted_ns_.erase(KeyOfPair(user, address));
  CountFailure(KeyOfPair(user, address), now_ns);
  CountFailure(KeyOfAddress(address), now_ns);
  CountFailure(KeyOfUser(user), now_ns);
}

void LoginBackoff::OnSuccess(std::string_view user, std::string_view address, int64_t now_ns) {
  std::string key = KeyOfPair(user, address);
  counts_.erase(key);
  if (trusted_ns_.size() >= kCountsMax && !trusted_ns_.contains(key)) {
    trusted_ns_.erase(
        std::ranges::min_element(trusted_ns_, {}, [](const auto& entry) { return entry.second; }));
  }
  trusted_ns_[std::move(key)] = now_ns;
}

bool LoginBackoff::IsTrusted(std::string_view user, std::string_view address,
                             int64_t now_ns) const {
  const auto found = trusted_ns_.find(KeyOfPair(user, address));
  return found != trusted_ns_.end() && now_ns - found->second < kTrustedNs;
}

void LoginBackoff::CountFailure(std::string key, int64_t now_ns) {
  if (counts_.size() >= kCountsMax && !counts_.contains(key)) MakeRoom(now_ns);
  Count& count = counts_[std::move(key)];
  if (count.last_ns + kForgottenAfterNs < now_ns) count.failures = 0;
  ++count.failures;
  count.last_ns = now_ns;
}

// Drops what is old, and at least the oldest count.
void LoginBackoff::MakeRoom(int64_t now_ns) {
  const auto oldest =
      std::ranges::min_element(counts_, {}, [](const auto& entry) { return entry.second.last_ns; });
  const int64_t drop_ns = std::max(oldest->second.last_ns, now_ns - kForgottenAfterNs);
  absl::erase_if(counts_, [&](const auto& entry) { return entry.second.last_ns <= drop_ns; });
}

}  // namespace tickstack::security
