#include "table/encoded.h"

#include "table/value_reader.h"

namespace tickstack {
namespace {

using Reader = ValueReader<const std::byte, ValueSource::kStored>;

}  // namespace

std::optional<EncodedHead> HeadOfEncoded(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  Reader::Head head;
  if (reader.TakeHead(&head) != ReadOutcome::kWhole) return std::nullopt;
  return EncodedHead{reader.offset(), head.inner_values};
}

// Walks without recursion: a list of n items only adds n to the number of values that follow.
std::optional<size_t> EncodedBytes(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  Reader::Head head;
  // Values still to be walked: at most 2^31 per list, and a list takes 6 bytes.
  uint64_t values = 1;
  while (values > 0) {
    if (reader.TakeHead(&head) != ReadOutcome::kWhole) return std::nullopt;
    values += head.inner_values - 1;
  }
  return reader.offset();
}

}  // namespace tickstack
