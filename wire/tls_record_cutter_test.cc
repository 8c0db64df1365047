#include "wire/tls_record_cutter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_buffer.h"

namespace tickstack::wire {
namespace {

std::vector<std::span<const std::byte>> Spans(const std::vector<std::string>& pieces) {
  std::vector<std::span<const std::byte>> spans;
  for (const std::string& piece : pieces) spans.push_back(AsBytes(piece));
  return spans;
}

std::string RandomText(std::mt19937_64& rng, size_t bytes) {
  std::string text(bytes, ' ');
  for (char& c : text) c = static_cast<char>(rng());
  return text;
}

// Goal: records have the bytes of the pieces, in order, and all but the last are full. Method: 300
// random lists of empty, small and large pieces, and a random limit.
TEST(TlsRecordCutter, FillsAllRecordsButTheLast) {
  constexpr size_t kSizes[] = {0, 1, 100, 2'400, kTlsRecordBytes, 19'200, 100'000};
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    std::vector<std::string> pieces;
    std::string all;
    for (size_t i = rng() % 8; i > 0; --i) {
      pieces.push_back(RandomText(rng, kSizes[rng() % std::size(kSizes)]));
      all += pieces.back();
    }
    const size_t limit = rng() % 2 == 0 ? all.size() : rng() % (all.size() + 1);
    const std::vector<std::span<const std::byte>> spans = Spans(pieces);
    TlsRecordCutter cutter(spans, limit);
    std::string cut;
    while (cut.size() < limit) {
      const std::string_view record = AsText(cutter.Next());
      ASSERT_EQ(record.size(), std::min(kTlsRecordBytes, limit - cut.size()));
      cut += record;
    }
    EXPECT_TRUE(cutter.Next().empty());
    EXPECT_EQ(cut, all.substr(0, limit));
  }
}

TEST(TlsRecordCutter, DoesNotCopyRecordsThatLieInOnePiece) {
  const std::vector<std::string> pieces = {std::string(2 * kTlsRecordBytes + 1, 'a'), "b"};
  const std::vector<std::span<const std::byte>> spans = Spans(pieces);
  TlsRecordCutter cutter(spans, SIZE_MAX);
  EXPECT_EQ(cutter.Next().data(), spans[0].data());
  EXPECT_EQ(cutter.Next().data(), spans[0].data() + kTlsRecordBytes);
  EXPECT_EQ(AsText(cutter.Next()), "ab");
  EXPECT_TRUE(cutter.Next().empty());
}

}  // namespace
}  // namespace tickstack::wire
