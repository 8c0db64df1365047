#include "base/scratch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>

#include "base/byte_buffer.h"
#include "base/kept_blocks.h"
#include "base/status.h"

namespace tickstack {
namespace {

// Counts allocations, and refuses those beyond its capacity.
class CountingMemory final : public ScratchMemory {
 public:
  explicit CountingMemory(size_t capacity_bytes = SIZE_MAX) : capacity_bytes_(capacity_bytes) {}
  ~CountingMemory() override { EXPECT_EQ(used_bytes(), 0u); }

  absl::StatusOr<std::byte*> Allocate(size_t bytes) override {
    const std::lock_guard lock(mutex_);
    if (bytes > capacity_bytes_ - used_bytes_) return ResourceExhausted("counting: full");
    auto* const memory = static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
    blocks_[memory] = bytes;
    used_bytes_ += bytes;
    return memory;
  }
  void Free(std::byte* memory, size_t bytes) override {
    const std::lock_guard lock(mutex_);
    ASSERT_EQ(blocks_.count(memory), 1u);
    ASSERT_EQ(blocks_[memory], bytes);
    blocks_.erase(memory);
    used_bytes_ -= bytes;
    std::free(memory);
  }
  const std::string& name() const override { return name_; }
  size_t capacity_bytes() const override { return capacity_bytes_; }

  size_t used_bytes() const {
    const std::lock_guard lock(mutex_);
    return used_bytes_;
  }

 private:
  const std::string name_ = "counting";
  const size_t capacity_bytes_;
  mutable std::mutex mutex_;
  std::map<std::byte*, size_t> blocks_;
  size_t used_bytes_ = 0;
};

constexpr auto kPassOn = [](const absl::Status& full) { return full; };

ByteBuffer Pattern(size_t bytes) {
  ByteBuffer buffer;
  buffer.reserve(bytes);
  for (size_t i = 0; i < bytes; ++i) buffer.AppendLittle(static_cast<uint8_t>(i * 31 % 251));
  return buffer;
}

bool HasPattern(const ByteBuffer& buffer, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    if (buffer.data()[i] != static_cast<std::byte>(i * 31 % 251)) return false;
  }
  return true;
}

TEST(Scratch, TakesLargeBlocksOfItsScopeFromTheMemoryAndSmallOnesFromMalloc) {
  CountingMemory memory;
  const ByteBuffer outside = Pattern(1 << 20);
  EXPECT_EQ(memory.used_bytes(), 0u);
  const absl::Status status = InScratch(
      &memory,
      [&] {
        const ByteBuffer small = Pattern(kLargeBlockBytes - 1);
        EXPECT_EQ(memory.used_bytes(), 0u);
        const ByteBuffer large = Pattern(kLargeBlockBytes);
        EXPECT_EQ(memory.used_bytes(), kLargeBlockBytes + kBlockHeaderBytes);
        const ScratchVector<uint64_t> numbers(100'000, 7);
        EXPECT_GE(memory.used_bytes(), 800'000u);
        EXPECT_EQ(std::accumulate(numbers.begin(), numbers.end(), uint64_t{0}), 700'000u);
        return absl::OkStatus();
      },
      kPassOn);
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(memory.used_bytes(), 0u);
}

// Every pair of sizes around the limit, each of them in the memory or outside.
TEST(Scratch, KeepsTheBytesOfABufferThatGrowsAcrossEveryBoundary) {
  CountingMemory memory;
  const size_t sizes[] = {1, kLargeBlockBytes - 1, kLargeBlockBytes, 3 * kLargeBlockBytes};
  for (size_t before : sizes) {
    for (size_t after : sizes) {
      for (int where = 0; where < 4; ++where) {
        SCOPED_TRACE(testing::Message() << before << " to " << after << " where " << where);
        ByteBuffer buffer;
        const auto in = [&](bool scratch, auto f) {
          const absl::Status status = InScratch(
              scratch ? &memory : nullptr, [&] { return f(), absl::OkStatus(); }, kPassOn);
          ASSERT_TRUE(status.ok());
        };
        in(where % 2 != 0, [&] { buffer = Pattern(before); });
        in(where / 2 != 0, [&] { buffer.reserve(before + after); });
        EXPECT_EQ(buffer.size(), before);
        EXPECT_TRUE(HasPattern(buffer, before));
        if (where / 2 != 0 && before + after >= kLargeBlockBytes) {
          // Growing in a scope moves the buffer there.
          EXPECT_EQ(memory.used_bytes(), before + after + kBlockHeaderBytes);
        }
      }
    }
  }
}

// As a reader of log after log: its buffer begins at some size, doubles a few times, and ends.
TEST(Scratch, BuffersThatGrowLeaveNoMoreBlocksEachTime) {
  FreeKeptBlocks();
  std::minstd_rand random(7);
  size_t after_some = 0;
  for (int round = 0; round < 1'000; ++round) {
    ByteBuffer buffer;
    const size_t bytes = kLargeBlockBytes + random() % kLargeBlockBytes;
    buffer.resize(bytes);
    buffer.data()[0] = buffer.data()[bytes - 1] = static_cast<std::byte>(round);
    for (size_t grown = 2 * bytes; grown <= 4 * bytes; grown *= 2) buffer.resize(grown);
    ASSERT_EQ(buffer.data()[0], static_cast<std::byte>(round));
    ASSERT_EQ(buffer.data()[bytes - 1], static_cast<std::byte>(round));
    buffer = {};
    if (round == 100) after_some = KeptBlockBytes();
  }
  EXPECT_GT(after_some, 0u);
  EXPECT_LE(KeptBlockBytes(), 2 * after_some);
  FreeKeptBlocks();
}

TEST(Scratch, FreesABlockOnAnotherThreadAfterItsScope) {
  CountingMemory memory;
  ByteBuffer answer;
  ASSERT_TRUE(InScratch(
                  &memory,
                  [&] {
                    answer = Pattern(1 << 20);
                    return absl::OkStatus();
                  },
                  kPassOn)
                  .ok());
  EXPECT_GT(memory.used_bytes(), size_t{1} << 20);
  std::thread([moved = std::move(answer)] { EXPECT_TRUE(HasPattern(moved, 1 << 20)); }).join();
  EXPECT_EQ(memory.used_bytes(), 0u);
}

TEST(Scratch, AFullMemoryIsAnErrorAndLeavesNothingBehind) {
  CountingMemory memory(1 << 20);
  const auto fill = [&](size_t bytes) {
    return InScratch(
        &memory,
        [&]() -> absl::StatusOr<size_t> {
          ScratchVector<ByteBuffer> kept;
          for (size_t at = 0; at < bytes; at += 100'000) kept.push_back(Pattern(100'000));
          return kept.size();
        },
        kPassOn);
  };
  const absl::StatusOr<size_t> refused = fill(2'000'000);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Message(refused.status()), "counting: full");
  EXPECT_EQ(memory.used_bytes(), 0u);
  const absl::StatusOr<size_t> next = fill(500'000);
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(*next, 5u);
}

TEST(Scratch, ABufferThatCannotGrowStaysAsItWas) {
  CountingMemory memory(1 << 20);
  ByteBuffer buffer = Pattern(200'000);
  const absl::Status status = InScratch(
      &memory,
      [&] {
        buffer.reserve(2 << 20);
        return absl::OkStatus();
      },
      kPassOn);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(buffer.size(), 200'000u);
  EXPECT_TRUE(HasPattern(buffer, 200'000));
}

TEST(Scratch, ScopesNestAndEnd) {
  CountingMemory outer, inner;
  const auto large = [] { return Pattern(100'000); };
  const auto run = [&](ScratchMemory* memory, auto f) {
    EXPECT_TRUE(InScratch(memory, [&] { return f(), absl::OkStatus(); }, kPassOn).ok());
  };
  run(&outer, [&] {
    run(&inner, [&] {
      const ByteBuffer block = large();
      EXPECT_EQ(outer.used_bytes(), 0u);
      EXPECT_GT(inner.used_bytes(), 0u);
    });
    run(nullptr, [&] {
      const ByteBuffer block = large();
      EXPECT_EQ(outer.used_bytes() + inner.used_bytes(), 0u);
    });
    const ByteBuffer block = large();
    EXPECT_GT(outer.used_bytes(), 0u);
  });
  EXPECT_EQ(outer.used_bytes(), 0u);
}

}  // namespace
}  // namespace tickstack
