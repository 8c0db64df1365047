#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tickstack::wire {

// What a client sends first: `user:password`, a capability byte, NUL. Old clients leave out the
// capability, and some the colon.
struct Credentials {
  std::string user;
  std::string password;
  uint8_t capability = 0;
};

inline constexpr size_t kMaxHandshakeBytes = 4096;

// `text` is everything before the NUL.
Credentials ParseCredentials(std::string_view text);
// Returns the credentials with capability and NUL, ready to send.
std::string FormatCredentials(const Credentials& credentials);

}  // namespace tickstack::wire
