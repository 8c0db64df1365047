#pragma once

// What the decoders of DBN's records share: the fields of a record, and what is remembered from
// one record to the next. Offsets are those of the record; the caller has checked that it has the
// bytes of its type. Numbers are little-endian.

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "base/byte_buffer.h"
#include "base/time.h"
#include "feed/market/big_endian.h"
#include "feed/market/dbn/dbn_books.h"
#include "feed/market/dbn/dbn_metadata.h"
#include "feed/market/event_reader.h"
#include "feed/market/events.h"
#include "feed/market/flag_text.h"

namespace tickstack::feed::market {

// The column `channel`: the dataset, and the number of its channel if there is one.
class DbnChannel {
 public:
  explicit DbnChannel(std::string dataset) : dataset_(std::move(dataset)) {}
  std::string_view dataset() const { return dataset_; }
  // `none` is the number that stands for no channel.
  std::string_view Text(uint16_t channel, uint16_t none) {
    if (channel == none) return dataset_;
    return channel == channel_ && !text_.empty() ? text_ : SetText(channel);
  }

 private:
  std::string_view SetText(uint16_t channel);

  const std::string dataset_;
  std::string text_;
  uint16_t channel_ = 0;  // That of text_, if it is not empty.
};

// The venue of a publisher, or else its number; empty for 0, which is no publisher.
class DbnVenueText {
 public:
  explicit DbnVenueText(uint16_t publisher) { Set(publisher); }
  std::string_view Of(uint16_t publisher) {
    if (publisher != publisher_) Set(publisher);
    return view();
  }
  std::string_view view() const {
    return venue_.empty() ? std::string_view(digits_.data(), size_) : venue_;
  }

 private:
  void Set(uint16_t publisher);

  uint16_t publisher_ = 0;
  std::string_view venue_;
  std::array<char, 5> digits_{};
  size_t size_ = 0;
};

struct DbnState {
  explicit DbnState(DbnMetadata metadata)
      : version(metadata.version),
        channel(std::move(metadata.dataset)),
        symbols(std::move(metadata.symbols)) {}

  const uint8_t version;
  DbnChannel channel;
  DbnVenueText venue{0};  // That of the last record.
  DbnSymbols symbols;
  DbnBooks books;
};

// A time as ns since 2000; null for none, which is the largest value. nullopt: after 2262.
inline std::optional<int64_t> DbnTime(uint64_t unix_ns) {
  if (unix_ns <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return static_cast<int64_t>(unix_ns) - kUnixNsOfKdbEpoch;
  }
  if (unix_ns == std::numeric_limits<uint64_t>::max()) return kNullLong;
  return std::nullopt;
}

struct DbnRecord {
  const std::byte* at;
  int64_t number;  // Counts the records of the file, from 1.
  EventSink& sink;
  MessageCounts& counts;
  DbnState& state;

  template <typename T>
  T Get(size_t offset) const {
    return LoadLittle<T>(at + offset);
  }
  char Char(size_t offset) const { return CharAt(at + offset); }
  // A text that ends at a 0, or after `bytes` bytes.
  std::string_view Text(size_t offset, size_t bytes) const {
    const std::string_view text(reinterpret_cast<const char*>(at + offset), bytes);
    return text.substr(0, text.find('\0'));
  }
  uint16_t publisher() const { return Get<uint16_t>(2); }
  uint32_t instrument() const { return Get<uint32_t>(4); }

  // Sets what an event begins with, from the times and the sequence number at these offsets; 0: the
  // record has none. The caller has checked the times. Written into the event itself: a copy would
  // wait for the fields that were just stored.
  void SetHead(EventHead& head, size_t recv_at, size_t sequence_at,
               std::string_view channel) const {
    const int64_t event_ns = DbnTime(Get<uint64_t>(8)).value_or(kNullLong);
    const int64_t recv_ns =
        recv_at == 0 ? kNullLong : DbnTime(Get<uint64_t>(recv_at)).value_or(kNullLong);
    head.time_ns = event_ns == kNullLong ? recv_ns : event_ns;
    head.recv_ns = recv_ns;
    head.seq = sequence_at == 0 ? number : Get<uint32_t>(sequence_at);
    head.sym = state.symbols.Find(instrument(), recv_ns == kNullLong ? event_ns : recv_ns);
    head.venue = state.venue.Of(publisher());
    head.channel = channel;
  }
  EventHead Head(size_t recv_at, size_t sequence_at, std::string_view channel) const {
    EventHead head;
    SetHead(head, recv_at, sequence_at, channel);
    return head;
  }
};

// Decodes a record, and returns why it does not fit, or an empty text.
using DbnFunction = std::string_view (*)(DbnRecord&);

std::string_view DecodeDbnOrder(DbnRecord& record);              // mbo
std::string_view DecodeDbnTrade(DbnRecord& record);              // mbp-0, trades
std::string_view DecodeDbnTop(DbnRecord& record);                // mbp-1, tbbo
std::string_view DecodeDbnBook(DbnRecord& record);               // mbp-10
std::string_view DecodeDbnQuote(DbnRecord& record);              // bbo
std::string_view DecodeDbnConsolidated(DbnRecord& record);       // cmbp-1, tcbbo
std::string_view DecodeDbnConsolidatedQuote(DbnRecord& record);  // cbbo
std::string_view DecodeDbnBar(DbnRecord& record);
std::string_view DecodeDbnStatus(DbnRecord& record);
std::string_view DecodeDbnDefinition(DbnRecord& record);
std::string_view DecodeDbnImbalance(DbnRecord& record);
std::string_view DecodeDbnStatistic(DbnRecord& record);
std::string_view DecodeDbnError(DbnRecord& record);
std::string_view DecodeDbnSystem(DbnRecord& record);
std::string_view DecodeDbnMapping(DbnRecord& record);

// Returns the double that is nearest to a price in units of 1e-9; null for none, which is the
// largest value.
double NearestDbnPrice(int64_t units);
inline double DbnPriceOf(int64_t units) {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  constexpr int64_t kExact = int64_t{1} << 53;  // Up to here, a double has all integers.
  constexpr double kUnits = 1e9;
  // Both numbers are exact, so only the quotient is rounded.
  if (units > -kExact && units < kExact) return static_cast<double>(units) / kUnits;
  return units == kNone ? kNullPrice : NearestDbnPrice(units);
}
inline double DbnPrice(const std::byte* at) { return DbnPriceOf(LoadLittle<int64_t>(at)); }

// A number of which the largest value stands for none.
template <typename T>
int64_t DbnNumberOf(T value) {
  return value == std::numeric_limits<T>::max() ? kNullLong : static_cast<int64_t>(value);
}
template <typename T>
int64_t DbnNumber(const std::byte* at) {
  return DbnNumberOf(LoadLittle<T>(at));
}

// A side as `B`, `S` or blank; 0 for other letters.
inline char DbnSide(char letter) {
  switch (letter) {
    case 'B':
      return 'B';
    case 'A':
      return 'S';
    case 'N':
      return ' ';
    default:
      return 0;
  }
}

// A code of one letter; empty for blanks, and for `~`, which stands for none.
inline std::string_view DbnCode(const std::byte* at) {
  const char letter = CharAt(at);
  return letter > ' ' && letter < '~' ? std::string_view(reinterpret_cast<const char*>(at), 1)
                                      : std::string_view();
}

// A number as text.
class DbnDigits {
 public:
  explicit DbnDigits(uint32_t number)
      : end_(std::to_chars(digits_.data(), digits_.data() + digits_.size(), number).ptr) {}
  std::string_view view() const { return {digits_.data(), end_}; }

 private:
  std::array<char, 10> digits_;
  const char* end_;
};

}  // namespace tickstack::feed::market
