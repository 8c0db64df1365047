#include "security/password.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/check.h"
#include "base/status.h"

namespace tickstack::security {
namespace {

constexpr uint64_t kMemoryBytesMax = uint64_t{1} << 30;
constexpr uint64_t kPassesMax = 16;

void InitSodium() {
  static const int initialised = sodium_init();
  TS_CHECK(initialised >= 0);
}

// Reads `prefix` and a number; false if the text does not begin so.
bool TakeNumber(std::string_view& text, std::string_view prefix, uint64_t* number) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

}  // namespace

absl::Status CheckUserName(std::string_view name) {
  if (!name.empty() && name.size() <= kUserNameBytesMax &&
      std::ranges::all_of(name, IsNameCharacter))
    return absl::OkStatus();
  return InvalidArgument("expected a name of 1 to {} letters, digits, -, _ and ., found {} bytes",
                         kUserNameBytesMax, name.size());
}

absl::Status CheckPassword(std::string_view password) {
  if (password.empty() || password.size() > kPasswordBytesMax) {
    return InvalidArgument("expected a password of 1 to {} bytes, found {}", kPasswordBytesMax,
                           password.size());
  }
  const bool has_control = std::ranges::any_of(password, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < ' ' || byte == 0x7f;
  });
  return has_control ? InvalidArgument("expected a password without control characters")
                     : absl::OkStatus();
}

absl::StatusOr<std::string> HashPassword(std::string_view password, const HashCost& cost) {
  InitSodium();
  TS_RETURN_IF_ERROR(CheckPassword(password));
  std::array<char, crypto_pwhash_STRBYTES> hash{};
  if (crypto_pwhash_str_alg(hash.data(), password.data(), password.size(), cost.passes,
                            static_cast<size_t>(cost.memory_bytes),
                            crypto_pwhash_ALG_ARGON2ID13) != 0) {
    return ResourceExhausted("no password can be hashed with {} bytes of memory and {} passes",
                             cost.memory_bytes, cost.passes);
  }
  return std::string(hash.data());
}

absl::StatusOr<HashCost> CostOfHash(std::string_view hash) {
  uint64_t kilobytes = 0, passes = 0, lanes = 0;
  std::string_view rest = hash;
  const bool is_hash = TakeNumber(rest, "$argon2id$v=19$m=", &kilobytes) &&
                       TakeNumber(rest, ",t=", &passes) && TakeNumber(rest, ",p=", &lanes) &&
                       rest.starts_with('$') && hash.size() < crypto_pwhash_STRBYTES;
  if (!is_hash || hash.find('\0') != std::string_view::npos) {
    return InvalidArgument("expected an argon2id hash, as `tickstack user passwd` writes it");
  }
  if (kilobytes > kMemoryBytesMax >> 10 || passes > kPassesMax) {
    return InvalidArgument("expected a hash of at most {} KiB and {} passes, found {} and {}",
                           kMemoryBytesMax >> 10, kPassesMax, kilobytes, passes);
  }
  return HashCost{kilobytes << 10, passes};
}

bool VerifyPassword(const std::string& hash, std::string_view password) {
  InitSodium();
  // The function reads up to crypto_pwhash_STRBYTES until the NUL.
  return hash.size() < crypto_pwhash_STRBYTES &&
         crypto_pwhash_str_verify(hash.c_str(), password.data(), password.size()) == 0;
}

std::string RandomSecret() {
  InitSodium();
  std::array<unsigned char, 32> bits{};
  randombytes_buf(bits.data(), bits.size());
  constexpr int kVariant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
  std::string text(sodium_base64_ENCODED_LEN(bits.size(), kVariant), '\0');
  sodium_bin2base64(text.data(), text.size(), bits.data(), bits.size(), kVariant);
  text.pop_back();  // The NUL.
  sodium_memzero(bits.data(), bits.size());
  return text;
}

void Wipe(std::string& text) {
  sodium_memzero(text.data(), text.size());
  text.clear();
}

}  // namespace tickstack::security
