#include "feed/market/dbn/dbn_decoder.h"

#include <fmt/format.h>

#include <array>

#include "feed/market/dbn/dbn_publishers.h"

namespace tickstack::feed::market {
namespace {

constexpr size_t kDbnEventTime = 8;

// A row of the table of records.
struct DbnType {
  uint8_t type;
  std::string_view name;
  std::array<uint16_t, DbnMetadata::kVersionMax> bytes;  // By version.
  uint16_t recv_at;                                      // Offset of the time of receipt; 0: none.
  DbnFunction decode;
};

constexpr DbnType kDbnTypes[] = {
    {0x00, "trades", {48, 48, 48}, 32, DecodeDbnTrade},
    {0x01, "mbp-1", {80, 80, 80}, 32, DecodeDbnTop},
    {0x0A, "mbp-10", {368, 368, 368}, 32, DecodeDbnBook},
    {0x11, "ohlcv", {56, 56, 56}, 0, DecodeDbnBar},
    {0x12, "status", {40, 40, 40}, 16, DecodeDbnStatus},
    {0x13, "definition", {360, 400, 520}, 16, DecodeDbnDefinition},
    {0x14, "imbalance", {112, 112, 112}, 16, DecodeDbnImbalance},
    {0x15, "error", {80, 320, 320}, 0, DecodeDbnError},
    {0x16, "symbol_mapping", {80, 176, 176}, 0, DecodeDbnMapping},
    {0x17, "system", {80, 320, 320}, 0, DecodeDbnSystem},
    {0x18, "statistics", {64, 64, 80}, 16, DecodeDbnStatistic},
    {0x20, "ohlcv-1s", {56, 56, 56}, 0, DecodeDbnBar},
    {0x21, "ohlcv-1m", {56, 56, 56}, 0, DecodeDbnBar},
    {0x22, "ohlcv-1h", {56, 56, 56}, 0, DecodeDbnBar},
    {0x23, "ohlcv-1d", {56, 56, 56}, 0, DecodeDbnBar},
    {0x24, "ohlcv-eod", {56, 56, 56}, 0, DecodeDbnBar},
    {0xA0, "mbo", {56, 56, 56}, 40, DecodeDbnOrder},
    {0xB1, "cmbp-1", {80, 80, 80}, 32, DecodeDbnConsolidated},
    {0xC0, "cbbo-1s", {80, 80, 80}, 32, DecodeDbnConsolidatedQuote},
    {0xC1, "cbbo-1m", {80, 80, 80}, 32, DecodeDbnConsolidatedQuote},
    {0xC2, "tcbbo", {80, 80, 80}, 32, DecodeDbnConsolidated},
    {0xC3, "bbo-1s", {80, 80, 80}, 32, DecodeDbnQuote},
    {0xC4, "bbo-1m", {80, 80, 80}, 32, DecodeDbnQuote},
};

// Returns the row of a type; nullptr: it is not known.
const DbnType* FindDbnType(std::byte type) {
  static constexpr auto kRows = [] {
    std::array<uint8_t, 256> rows{};
    for (size_t i = 0; i < std::size(kDbnTypes); ++i) {
      rows[kDbnTypes[i].type] = static_cast<uint8_t>(i + 1);
    }
    return rows;
  }();
  const uint8_t row = kRows[static_cast<uint8_t>(type)];
  return row == 0 ? nullptr : &kDbnTypes[row - 1];
}

bool DbnTimesFit(const DbnType& type, const std::byte* at) {
  return DbnTime(LoadLittle<uint64_t>(at + kDbnEventTime)).has_value() &&
         (type.recv_at == 0 || DbnTime(LoadLittle<uint64_t>(at + type.recv_at)).has_value());
}

}  // namespace

std::string_view DbnChannel::SetText(uint16_t channel) {
  text_ = fmt::format("{} {}", dataset_, channel);
  channel_ = channel;
  return text_;
}

void DbnVenueText::Set(uint16_t publisher) {
  publisher_ = publisher;
  venue_ = DbnVenue(publisher);
  size_ = 0;
  if (publisher == 0 || !venue_.empty()) return;
  const auto [end, error] =
      std::to_chars(digits_.data(), digits_.data() + digits_.size(), publisher);
  size_ = static_cast<size_t>(end - digits_.data());
}

// Divides to 55 bits or more, and sets the last bit if there is a rest. So the conversion to a
// double, which keeps 53 bits, rounds the exact quotient.
double NearestDbnPrice(int64_t units) {
  constexpr int kShift = 31;
  constexpr unsigned kUnits = 1'000'000'000;
  const bool is_negative = units < 0;
  const unsigned __int128 shifted =
      static_cast<unsigned __int128>(is_negative ? -static_cast<__int128>(units) : units) << kShift;
  const unsigned __int128 quotient = shifted / kUnits | (shifted % kUnits != 0 ? 1 : 0);
  const double price = std::ldexp(static_cast<double>(quotient), -kShift);
  return is_negative ? -price : price;
}

std::string_view DbnDecoder::Decode(std::span<const std::byte> record, int64_t number,
                                    EventSink& sink, MessageCounts& counts) {
  if (record.size() < kHeadBytes) {
    ++counts.bad[record.size() < 2 ? 0 : static_cast<uint8_t>(record[1])];
    return "it is shorter than the head of a record";
  }
  const auto type = static_cast<uint8_t>(record[1]);
  const DbnType* const known = FindDbnType(record[1]);
  if (known == nullptr) {
    ++counts.unknown[type];
    return {};
  }
  std::string_view why = "it is shorter than its type";
  if (record.size() >= known->bytes[state_.version - 1]) {
    DbnRecord decoded = {record.data(), number, sink, counts, state_};
    why =
        DbnTimesFit(*known, record.data()) ? known->decode(decoded) : "a time of it is after 2262";
  }
  ++(why.empty() ? counts.decoded : counts.bad)[type];
  return why;
}

int64_t DbnDecoder::TimeNs(std::span<const std::byte> record) {
  if (record.size() < kHeadBytes) return kNullLong;
  const DbnType* const known = FindDbnType(record[1]);
  if (known == nullptr) return kNullLong;
  if (known->recv_at != 0 && record.size() >= known->recv_at + sizeof(uint64_t)) {
    const int64_t recv_ns =
        DbnTime(LoadLittle<uint64_t>(record.data() + known->recv_at)).value_or(kNullLong);
    if (recv_ns != kNullLong) return recv_ns;
  }
  return DbnTime(LoadLittle<uint64_t>(record.data() + kDbnEventTime)).value_or(kNullLong);
}

std::string_view DbnDecoder::TypeName(uint8_t type) {
  const DbnType* const known = FindDbnType(std::byte{type});
  return known == nullptr ? std::string_view() : known->name;
}

}  // namespace tickstack::feed::market
