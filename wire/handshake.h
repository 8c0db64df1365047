#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tickstack::wire {

// What a client says first: `user:password`, a capability byte, NUL. Old ones leave the capability
// out, some leave the colon out.
struct Credentials {
  std::string user;
  std::string password;
  uint8_t capability = 0;
};

inline constexpr size_t kMaxHandshakeBytes = 4096;

// `text` is what came before the NUL.
Credentials ParseCredentials(std::string_view text);
// With capability and NUL, ready to send.
std::string FormatCredentials(const Credentials& credentials);

}  // namespace tickstack::wire
