#include "table/lz_stream.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/status.h"

namespace tickstack {
namespace {

constexpr size_t kExtraBytesMax = 255;  // Bytes that a match copies after its first two.
constexpr size_t kGroupItems = 8;
constexpr size_t kGroupBytesMax = 1 + 2 * kGroupItems;
constexpr size_t kGroupYieldMax = kGroupItems * (2 + kExtraBytesMax);

uint8_t HashAt(const std::byte* bytes, size_t at) {
  return std::to_integer<uint8_t>(bytes[at] ^ bytes[at + 1]);
}

// Writes groups of eight items behind their flag byte.
class GroupWriter {
 public:
  GroupWriter(ByteBuffer& out, size_t bytes_max) : out_(out), bytes_max_(bytes_max) {}

  // Before each item. False if another group might not fit.
  bool BeginItem() {
    if (items_ % kGroupItems != 0) return true;
    if (out_.size() + kGroupBytesMax > bytes_max_) return false;
    flags_at_ = out_.size();
    out_.AppendLittle(uint8_t{0});
    return true;
  }
  void Literal(std::byte byte) {
    out_.Append(std::span(&byte, 1));
    ++items_;
  }
  void Match(uint8_t hash, size_t extra_bytes) {
    out_.AppendLittle(hash);
    out_.AppendLittle(static_cast<uint8_t>(extra_bytes));
    out_.data()[flags_at_] |= std::byte{1} << (items_ % kGroupItems);
    ++items_;
  }

 private:
  ByteBuffer& out_;
  size_t bytes_max_;
  size_t flags_at_ = 0;
  size_t items_ = 0;
};

// Returns how many bytes agree at `from` and `at`: at most kExtraBytesMax, and not past the end.
size_t AgreeingBytes(std::span<const std::byte> message, size_t from, size_t at) {
  const size_t end = std::min(at + kExtraBytesMax, message.size());
  const size_t begin = at;
  while (at < end && message[from] == message[at]) ++from, ++at;
  return at - begin;
}

// Returns false if the groups do not fit.
bool WriteGroups(std::span<const std::byte> message, GroupWriter groups) {
  std::array<uint32_t, 256> table{};
  // kdb+ enters a literal's position one item late, after the lookup of the next item.
  size_t late = 0;
  uint8_t late_hash = 0;
  size_t at = kLzHeaderBytes;
  while (at < message.size()) {
    if (!groups.BeginItem()) return false;
    const bool has_pair = at + 2 < message.size();  // The last two bytes are literals.
    const uint8_t hash = has_pair ? HashAt(message.data(), at) : uint8_t{0};
    const size_t from = has_pair ? table[hash] : 0;
    if (late != 0) table[late_hash] = static_cast<uint32_t>(late);
    late = 0;

    // Equal hashes and equal first bytes mean equal second bytes.
    if (from == 0 || message[from] != message[at]) {
      late = at;
      late_hash = hash;
      groups.Literal(message[at]);
      ++at;
      continue;
    }
    table[hash] = static_cast<uint32_t>(at);
    const size_t extra_bytes = AgreeingBytes(message, from + 2, at + 2);
    groups.Match(hash, extra_bytes);
    at += 2 + extra_bytes;
  }
  return true;
}

// Rebuilds the bytes after the header. The output grows only by what a group can yield, so a
// message that declares more than it holds costs no more memory than it yields.
class Expander {
 public:
  Expander(std::span<const std::byte> stream, size_t total_bytes, ByteBuffer& out)
      : stream_(stream), total_bytes_(total_bytes), out_(out) {}

  absl::Status Run() {
    while (at_ < total_bytes_) TS_RETURN_IF_ERROR(Group());
    if (next_ == stream_.size()) return absl::OkStatus();
    return InvalidArgument(
        "compressed message: {} bytes of stream are left after {} declared bytes",
        stream_.size() - next_, total_bytes_);
  }

 private:
  absl::Status Group() {
    TS_RETURN_IF_ERROR(Need(1));
    const auto flags = std::to_integer<uint32_t>(stream_[next_++]);
    out_.resize(at_ + kGroupYieldMax);
    for (uint32_t bit = 1; bit < 256 && at_ < total_bytes_; bit <<= 1) {
      TS_RETURN_IF_ERROR((flags & bit) != 0 ? Match() : Literal());
    }
    return absl::OkStatus();
  }

  absl::Status Literal() {
    TS_RETURN_IF_ERROR(Need(1));
    out_.data()[at_++] = stream_[next_++];
    EnterPairsBefore(at_);
    return absl::OkStatus();
  }

  absl::Status Match() {
    TS_RETURN_IF_ERROR(Need(2));
    const size_t from = table_[std::to_integer<uint8_t>(stream_[next_])];
    const auto extra_bytes = std::to_integer<size_t>(stream_[next_ + 1]);
    next_ += 2;
    if (2 + extra_bytes > total_bytes_ - at_) {
      return InvalidArgument("compressed message: a match of {} bytes at byte {}, {} are declared",
                             2 + extra_bytes, at_, total_bytes_);
    }
    // Is at least two bytes before `at_`, because a position enters the table with both its bytes.
    std::byte* bytes = out_.data();
    for (size_t i = 0; i < 2 + extra_bytes; ++i) bytes[at_ + i] = bytes[from + i];
    EnterPairsBefore(at_ + 2);
    at_ += 2 + extra_bytes;
    entered_ = at_;
    return absl::OkStatus();
  }

  // Enters the positions of the pairs that end before `end` and were not entered yet.
  void EnterPairsBefore(size_t end) {
    const std::byte* bytes = out_.data();
    for (; entered_ + 1 < end; ++entered_) {
      table_[HashAt(bytes, entered_)] = static_cast<uint32_t>(entered_);
    }
  }

  absl::Status Need(size_t bytes) {
    if (stream_.size() - next_ >= bytes) return absl::OkStatus();
    return InvalidArgument("compressed message: the stream ends at byte {} of {} declared bytes",
                           at_, total_bytes_);
  }

  std::span<const std::byte> stream_;
  size_t next_ = 0;
  size_t total_bytes_;
  ByteBuffer& out_;
  size_t at_ = kLzHeaderBytes;
  size_t entered_ = kLzHeaderBytes;
  std::array<uint32_t, 256> table_{};
};

}  // namespace

bool AppendLzStream(std::span<const std::byte> message, size_t bytes_max, ByteBuffer& out) {
  return WriteGroups(message, GroupWriter(out, bytes_max));
}

absl::Status ExpandLzStream(std::span<const std::byte> stream, size_t total_bytes,
                            ByteBuffer& out) {
  TS_RETURN_IF_ERROR(Expander(stream, total_bytes, out).Run());
  out.resize(total_bytes);  // The last group may have yielded less than possible.
  return absl::OkStatus();
}

}  // namespace tickstack
