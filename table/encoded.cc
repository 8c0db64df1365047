#include "table/encoded.h"

#include <cstdint>
#include <cstring>

#include "base/byte_buffer.h"
#include "table/types.h"

namespace tickstack {
namespace {

class EncodedWalker {
 public:
  explicit EncodedWalker(std::span<const std::byte> bytes) : bytes_(bytes) {}

  // Walks one value without the values in it, and returns how many these are.
  std::optional<uint64_t> One() {
    if (!Skip(1)) return std::nullopt;
    const auto code = static_cast<int8_t>(bytes_[at_ - 1]);
    if (code < 0) return Atom(code);
    if (code <= 19) return Vector(static_cast<Type>(code));
    switch (code) {
      case 98:  // An attribute, then a dictionary.
        return Skip(1) ? std::optional<uint64_t>(1) : std::nullopt;
      case 99:
      case 127:
        return 2;
      case 100:  // A namespace, then the text.
        return SkipName() ? std::optional<uint64_t>(1) : std::nullopt;
      case 101:
      case 102:
      case 103:
        return Leaf(Skip(1));
      case 104:
      case 105:
        return Count();
      default:
        return code >= 106 && code <= 111 ? std::optional<uint64_t>(1) : std::nullopt;
    }
  }

  size_t at() const { return at_; }

 private:
  bool Skip(uint64_t bytes) {
    if (bytes > bytes_.size() - at_) return false;
    at_ += static_cast<size_t>(bytes);
    return true;
  }

  bool SkipName() {
    if (at_ == bytes_.size()) return false;
    const void* const nul = std::memchr(bytes_.data() + at_, 0, bytes_.size() - at_);
    if (nul == nullptr) return false;
    at_ = static_cast<size_t>(static_cast<const std::byte*>(nul) - bytes_.data()) + 1;
    return true;
  }

  std::optional<uint32_t> Count() {
    if (!Skip(4)) return std::nullopt;
    const auto count = LoadLittle<int32_t>(bytes_.data() + at_ - 4);
    if (count < 0) return std::nullopt;
    return static_cast<uint32_t>(count);
  }

  static std::optional<uint64_t> Leaf(bool whole) {
    return whole ? std::optional<uint64_t>(0) : std::nullopt;
  }

  std::optional<uint64_t> Atom(int code) {
    const auto type = static_cast<Type>(-code);
    if (code == -128 || type == Type::kSymbol) return Leaf(SkipName());
    return IsFixedWidth(type) ? Leaf(Skip(WidthOf(type))) : std::nullopt;
  }

  std::optional<uint64_t> Vector(Type type) {
    if (type != Type::kList && !IsVectorType(type)) return std::nullopt;
    if (!Skip(1)) return std::nullopt;  // Skips the attribute.
    const std::optional<uint32_t> count = Count();
    if (!count) return std::nullopt;
    if (type == Type::kList) return *count;
    if (type != Type::kSymbol) return Leaf(Skip(uint64_t{*count} * WidthOf(type)));
    for (uint32_t i = 0; i < *count; ++i) {
      if (!SkipName()) return std::nullopt;
    }
    return 0;
  }

  std::span<const std::byte> bytes_;
  size_t at_ = 0;
};

}  // namespace

std::optional<EncodedHead> HeadOfEncoded(std::span<const std::byte> bytes) {
  EncodedWalker walker(bytes);
  const std::optional<uint64_t> inner = walker.One();
  if (!inner) return std::nullopt;
  return EncodedHead{walker.at(), *inner};
}

// Walks without recursion: a list of n items only adds n to the number of values that follow.
std::optional<size_t> EncodedBytes(std::span<const std::byte> bytes) {
  EncodedWalker walker(bytes);
  // Values still to be walked: at most 2^31 per list, and a list takes 6 bytes.
  uint64_t values = 1;
  while (values > 0) {
    --values;
    const std::optional<uint64_t> inner = walker.One();
    if (!inner) return std::nullopt;
    values += *inner;
  }
  return walker.at();
}

}  // namespace tickstack
