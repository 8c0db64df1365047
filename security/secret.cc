#include "security/secret.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.h"

namespace tickstack::security {

Secret::Secret(std::string_view bytes) : bytes_(bytes.size()) {
  TS_CHECK(sodium_init() >= 0);
  memory_ = sodium_malloc(std::max<size_t>(bytes_, 1));
  if (memory_ == nullptr) throw std::bad_alloc();
  if (!bytes.empty()) std::memcpy(memory_, bytes.data(), bytes_);
}

Secret Secret::Random(size_t bytes) {
  Secret secret(std::string_view{});
  sodium_free(std::exchange(secret.memory_, sodium_malloc(std::max<size_t>(bytes, 1))));
  if (secret.memory_ == nullptr) throw std::bad_alloc();
  secret.bytes_ = bytes;
  randombytes_buf(secret.memory_, bytes);
  return secret;
}

Secret::Secret(Secret&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Secret& Secret::operator=(Secret&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Secret::~Secret() { sodium_free(memory_); }

bool Secret::Equals(std::string_view other) const {
  return other.size() == bytes_ && sodium_memcmp(memory_, other.data(), bytes_) == 0;
}

}  // namespace tickstack::security
