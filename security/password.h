#pragma once

// Passwords: salted hashes by libsodium's argon2id, and random secrets.
//
// A hash is a text that contains its own cost. `$argon2id$v=19$m=65536,t=2,p=1$SALT$HASH` costs
// 64 MiB of memory and two passes, about 0.1 s of a core.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tickstack::security {

inline constexpr size_t kPasswordBytesMax = 1024;
inline constexpr size_t kUserNameBytesMax = 64;

// Returns kInvalidArgument unless the name has 1 to 64 letters, digits, `.`, `-` and `_`.
absl::Status CheckUserName(std::string_view name);
// Returns kInvalidArgument unless the password has 1 to 1024 bytes without control characters, at
// which kdb+'s handshake could cut it.
absl::Status CheckPassword(std::string_view password);

struct HashCost {
  uint64_t memory_bytes = uint64_t{64} << 20;
  uint64_t passes = 2;
};

// Returns a hash with a new salt. Blocks for the time that the hash costs. Errors: those of
// CheckPassword; kResourceExhausted if the memory cannot be allocated.
absl::StatusOr<std::string> HashPassword(std::string_view password, const HashCost& cost = {});

// Returns the cost of a hash. kInvalidArgument if the text is not an argon2id hash, or if each
// login would need more than 1 GiB or 16 passes.
absl::StatusOr<HashCost> CostOfHash(std::string_view hash);

// True if the hash was made from this password. Blocks for the time that the hash costs, whatever
// the result. Threads: any.
bool VerifyPassword(const std::string& hash, std::string_view password);

// Returns 256 random bits as 43 letters, digits, `-` and `_`.
std::string RandomSecret();

// Overwrites the bytes of a text, which the compiler cannot optimize away, and empties it.
void Wipe(std::string& text);

}  // namespace tickstack::security
