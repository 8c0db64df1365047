#pragma once

// Counts of this process's connections, for its metrics. Threads: any.

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "wire/places.h"

namespace tickstack::wire {

// Why a client was refused or cut off.
enum class RefusedFor : uint8_t {
  kNoPlace,             // Too many connections of its class, user or address.
  kOldestLogin,         // Its login was incomplete, and there were too many of those.
  kNoKdbLogin,          // It sent something else, or nothing.
  kHttpSessions,        // Too many HTTP sessions, of its class, user or address or at all.
  kUnfinishedMessages,  // Unfinished messages held too much, and its message was the largest.
};
inline constexpr std::array<std::string_view, 5> kRefusedForNames = {
    "no_place", "oldest_login", "no_kdb_login", "http_sessions", "unfinished_messages"};

struct ConnectionCounts {
  std::array<std::atomic<int64_t>, kPlaceClasses> open{};
  std::atomic<int64_t> logging_in = 0;
  std::atomic<int64_t> http_sessions = 0;
  std::atomic<int64_t> unfinished_bytes = 0;
  std::array<std::atomic<int64_t>, kRefusedForNames.size()> refused{};

  static ConnectionCounts& OfProcess();
  void CountRefused(RefusedFor reason) {
    refused[static_cast<size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
  }
};

}  // namespace tickstack::wire
