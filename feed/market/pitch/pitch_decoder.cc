#include "feed/market/pitch/pitch_decoder.h"

#include <algorithm>

#include "base/byte_buffer.h"
#include "base/time.h"
#include "feed/market/big_endian.h"
#include "feed/market/flag_text.h"
#include "feed/market/pitch/pitch_auctions.h"
#include "feed/market/pitch/pitch_instruments.h"
#include "feed/market/pitch/pitch_statuses.h"

namespace tickstack::feed::market {
namespace {

constexpr uint8_t kE = 1, kO = 2, kF = 4, kC = 8;  // As in PitchMarket.
constexpr uint8_t kAll = kE | kO | kF | kC;
constexpr size_t kPitchHeadBytes = 2, kOffsetEnd = 6;
constexpr int64_t kPricesPerShort = 100;  // Units of a price of 8 bytes in one of 2 bytes.

}  // namespace

const PitchDecoder::MessageType PitchDecoder::kTypes[] = {
    {0x20, kE | kO | kC, 6, &PitchDecoder::TimeMessage},
    {0x20, kO | kF | kC, 10, &PitchDecoder::TimeMessage},
    {0x21, kE | kO | kC, 34, &PitchDecoder::AddLong},
    {0x21, kF, 33, &PitchDecoder::AddLong},
    {0x22, kE | kO | kC, 26, &PitchDecoder::AddShort},
    {0x22, kF, 25, &PitchDecoder::AddShort},
    {0x23, kE, 26, &PitchDecoder::Executed},
    {0x23, kO | kF | kC, 27, &PitchDecoder::Executed},
    {0x24, kE, 38, &PitchDecoder::ExecutedAtPrice},
    {0x24, kO | kC, 39, &PitchDecoder::ExecutedAtPrice},
    {0x25, kAll, 18, &PitchDecoder::ReduceLong},
    {0x26, kAll, 16, &PitchDecoder::ReduceShort},
    {0x27, kE | kO | kC, 27, &PitchDecoder::ModifyLong},
    {0x27, kF, 26, &PitchDecoder::ModifyLong},
    {0x28, kE | kO | kC, 19, &PitchDecoder::ModifyShort},
    {0x28, kF, 18, &PitchDecoder::ModifyShort},
    {0x29, kAll, 14, &PitchDecoder::DeleteOrder},
    {0x2a, kE, 41, &PitchDecoder::TradeLong},
    {0x2a, kO | kF | kC, 42, &PitchDecoder::TradeLong},
    {0x2b, kE, 33, &PitchDecoder::TradeShort},
    {0x2b, kO | kF | kC, 34, &PitchDecoder::TradeShort},
    {0x2c, kAll, 14, &PitchDecoder::BrokenTrade},
    {0x2d, kAll, 6, &PitchDecoder::Plain<DecodePitchEndOfSession>},
    {0x2e, kO, 30, &PitchDecoder::Plain<DecodePitchSymbolMapping>},
    {0x2e, kO | kC, 38, &PitchDecoder::Plain<DecodePitchSymbolMapping>},
    {0x2f, kE | kO, 40, &PitchDecoder::AddExpanded},
    {0x2f, kE | kO, 41, &PitchDecoder::AddExpanded},
    {0x2f, kO | kC, 45, &PitchDecoder::AddExpanded},
    {0x2f, kO | kC, 50, &PitchDecoder::AddExpanded},
    {0x30, kE | kO, 43, &PitchDecoder::TradeExpanded},
    {0x30, kO, 44, &PitchDecoder::TradeExpanded},
    {0x31, kAll, 18, &PitchDecoder::Plain<DecodePitchTradingStatus>},
    {0x95, kE | kO, 47, &PitchDecoder::Plain<DecodePitchAuctionUpdate>},
    {0x96, kE | kO | kC, 27, &PitchDecoder::Plain<DecodePitchAuctionSummary>},
    {0x97, kAll, 6, &PitchDecoder::UnitClear},
    {0x98, kE | kO, 15, &PitchDecoder::Plain<DecodePitchRetail>},
    {0x9d, kO, 0, &PitchDecoder::WithoutRows},       // Strikes of a settlement auction.
    {0x9e, kO, 0, &PitchDecoder::WithoutRows},       // Symbols of a settlement auction.
    {0xad, kO | kC, 0, &PitchDecoder::WithoutRows},  // Auction notification.
    {0xae, kO | kC, 0, &PitchDecoder::WithoutRows},  // Auction cancel.
    {0xaf, kO | kC, 0, &PitchDecoder::WithoutRows},  // Auction trade.
    {0xb1, kO | kF | kC, 18, &PitchDecoder::TimeReference},
    {0xb9, kF, 25, &PitchDecoder::Plain<DecodePitchSettlement>},
    {0xba, kF, 65, &PitchDecoder::Plain<DecodePitchDaySummary>},
    {0xbb, kF, 0, &PitchDecoder::Plain<DecodePitchFutureDefinition>},
    {0xbc, kO | kF | kC, 0, &PitchDecoder::WithoutRows},  // Transaction begin.
    {0xbd, kO | kF | kC, 0, &PitchDecoder::WithoutRows},  // Transaction end.
    {0xbe, kF, 28, &PitchDecoder::Plain<DecodePitchPriceLimits>},
    {0xd1, kO | kC, 64, &PitchDecoder::Plain<DecodePitchAuctionUpdate>},
    {0xd2, kO, 0, &PitchDecoder::WithoutRows},  // Width update.
    {0xd3, kF, 0, &PitchDecoder::WithoutRows},  // Open interest.
    {0xfa, kF, 0, &PitchDecoder::WithoutRows},  // Names of variance futures.
};

void PitchDecoder::Reset() {
  units_ = {};
  unsequenced_ = {};
  open_orders_ = 0;
}

// Finds the row for a message; nullptr if its type is not known.
std::string_view PitchDecoder::Find(std::span<const std::byte> bytes,
                                    const MessageType*& found) const {
  const auto type = static_cast<uint8_t>(bytes[1]);
  found = nullptr;
  for (const auto* row = std::ranges::lower_bound(kTypes, type, {}, &MessageType::type);
       row != std::end(kTypes) && row->type == type; ++row) {
    found = row;
    const bool is_of_market = (row->markets & static_cast<uint8_t>(market_)) != 0;
    if (is_of_market && (row->bytes == 0 || row->bytes == bytes.size())) return {};
  }
  return found == nullptr ? "" : "its type has another length in this market";
}

// Forgets the time of a unit when messages are missing, and everything when it starts over.
PitchUnit& PitchDecoder::UnitOf(uint8_t number, const EventHead& head) {
  std::unique_ptr<PitchUnit>& unit = (head.seq == kNullLong ? unsequenced_ : units_)[number];
  if (unit == nullptr) unit = std::make_unique<PitchUnit>();
  if (head.seq != kNullLong && unit->seq != kNullLong) {
    if (head.seq <= unit->seq) {
      open_orders_ -= unit->book.open_orders();
      *unit = PitchUnit();
    } else if (head.seq != unit->seq + 1) {
      unit->second_ns = kNullLong;
    }
  }
  unit->seq = head.seq;
  return *unit;
}

std::string_view PitchDecoder::Decode(std::span<const std::byte> bytes, uint8_t number,
                                      const EventHead& head, EventSink& sink,
                                      MessageCounts& counts) {
  if (bytes.size() < kPitchHeadBytes) {
    ++counts.bad[0];
    return "it is shorter than the head of a message";
  }
  const auto type = static_cast<uint8_t>(bytes[1]);
  PitchUnit& unit = UnitOf(number, head);
  const MessageType* known = nullptr;
  std::string_view why = Find(bytes, known);
  if (known == nullptr) {
    ++counts.unknown[type];
    return {};
  }
  if (why.empty()) {
    PitchMessage message = {bytes.data(), bytes.size(), head, unit, sink, counts};
    if (unit.second_ns != kNullLong && bytes.size() >= kOffsetEnd) {
      message.head.time_ns = unit.second_ns + PitchU32(bytes.data() + kPitchHeadBytes);
    }
    const size_t orders = unit.book.open_orders();
    why = (this->*known->decode)(message);
    open_orders_ += unit.book.open_orders() - orders;
  }
  ++(why.empty() ? counts.decoded : counts.bad)[type];
  return why;
}

// Seconds since midnight. If the message has seconds since 1970 as well, they do not depend on the
// date and time zone that the decoder was given.
std::string_view PitchDecoder::TimeMessage(PitchMessage& message) {
  const int64_t seconds = PitchU32(message.at + 2);
  if (message.bytes > kOffsetEnd) {
    message.unit.second_ns = PitchSecondNs(PitchU32(message.at + 6));
    return {};
  }
  if (seconds >= kNsPerDay / kNsPerSecond) return "its time is after the end of the day";
  message.unit.second_ns = midnight_ns_ + seconds * kNsPerSecond;
  return {};
}

// Midnight since 1970, and the second since midnight.
std::string_view PitchDecoder::TimeReference(PitchMessage& message) {
  message.unit.second_ns =
      PitchSecondNs(PitchU32(message.at + 2)) + int64_t{PitchU32(message.at + 6)} * kNsPerSecond;
  return {};
}

std::string_view PitchDecoder::UnitClear(PitchMessage& message) {
  Order event{message.head};
  message.unit.book.Clear(event, message.sink);
  return {};
}

// Prices of 2 bytes are in 1/100. Where no price is negative, the highest bit is part of it.
int64_t PitchDecoder::ShortPrice(const std::byte* at) const {
  const auto price = LoadLittle<uint16_t>(at);
  const bool is_signed = market_ == PitchMarket::kFutures || market_ == PitchMarket::kComplex;
  return (is_signed ? int64_t{static_cast<int16_t>(price)} : int64_t{price}) * kPricesPerShort;
}

// Flags, as two digits, are followed by the code of the customer if there is one.
std::string_view PitchDecoder::Add(PitchMessage& message, Order& event, int64_t price,
                                   size_t flags_offset) {
  constexpr size_t kCustomerOffset = 40;
  if (open_orders_ >= OpenOrders<char>::kOrdersMax) return "too many orders are open";
  event.id = PitchLong(message.at + 6);
  event.side = CharAt(message.at + 14);
  std::string cond;
  if (message.bytes > flags_offset) cond = FlagText(message.at[flags_offset]).view();
  if (message.bytes > kCustomerOffset) cond += PitchCode(message.at + kCustomerOffset);
  event.cond = cond;
  return message.unit.book.Add(event, price, message.sink);
}

std::string_view PitchDecoder::AddLong(PitchMessage& message) {
  Order event{message.head};
  event.size = PitchU32(message.at + 15);
  event.sym = PaddedText(message.at + 19, kPitchSymbolBytes);
  return Add(message, event, PitchLong(message.at + 25), 33);
}

std::string_view PitchDecoder::AddShort(PitchMessage& message) {
  Order event{message.head};
  event.size = LoadLittle<uint16_t>(message.at + 15);
  event.sym = PaddedText(message.at + 17, kPitchSymbolBytes);
  return Add(message, event, ShortPrice(message.at + 23), 25);
}

std::string_view PitchDecoder::AddExpanded(PitchMessage& message) {
  Order event{message.head};
  event.size = PitchU32(message.at + 15);
  event.sym = PaddedText(message.at + 19, kPitchLongSymbolBytes);
  event.mpid = PaddedText(message.at + 36, 4);
  return Add(message, event, PitchLong(message.at + 27), 35);
}

std::string_view PitchDecoder::Executed(PitchMessage& message) {
  const std::byte* const at = message.at;
  Order event{message.head};
  event.id = PitchLong(at + 6);
  event.size = PitchU32(at + 14);
  event.trade_id = PitchLong(at + 18);
  const std::byte cond[] = {std::byte{'E'}, message.bytes > 26 ? at[26] : std::byte{' '}};
  event.cond = PaddedText(cond + 1, 1);
  return message.unit.book.Execute(event, std::nullopt, std::nullopt, PaddedText(cond, sizeof cond),
                                   message.sink, message.counts);
}

std::string_view PitchDecoder::ExecutedAtPrice(PitchMessage& message) {
  const std::byte* const at = message.at;
  Order event{message.head};
  event.id = PitchLong(at + 6);
  event.size = PitchU32(at + 14);
  event.trade_id = PitchLong(at + 22);
  const std::byte cond[] = {std::byte{'C'}, message.bytes > 38 ? at[38] : std::byte{' '}};
  event.cond = PaddedText(cond + 1, 1);
  return message.unit.book.Execute(event, PitchLong(at + 30), PitchU32(at + 18),
                                   PaddedText(cond, sizeof cond), message.sink, message.counts);
}

std::string_view PitchDecoder::ReduceLong(PitchMessage& message) {
  Order event{message.head};
  event.id = PitchLong(message.at + 6);
  event.size = PitchU32(message.at + 14);
  return message.unit.book.Cancel(event, message.sink, message.counts);
}

std::string_view PitchDecoder::ReduceShort(PitchMessage& message) {
  Order event{message.head};
  event.id = PitchLong(message.at + 6);
  event.size = LoadLittle<uint16_t>(message.at + 14);
  return message.unit.book.Cancel(event, message.sink, message.counts);
}

std::string_view PitchDecoder::ModifyLong(PitchMessage& message) {
  Order event{message.head};
  event.id = PitchLong(message.at + 6);
  event.size = PitchU32(message.at + 14);
  const FlagText flags(message.bytes > 26 ? message.at[26] : std::byte{0});
  if (message.bytes > 26) event.cond = flags.view();
  return message.unit.book.Modify(event, PitchLong(message.at + 18), message.sink, message.counts);
}

std::string_view PitchDecoder::ModifyShort(PitchMessage& message) {
  Order event{message.head};
  event.id = PitchLong(message.at + 6);
  event.size = LoadLittle<uint16_t>(message.at + 14);
  const FlagText flags(message.bytes > 18 ? message.at[18] : std::byte{0});
  if (message.bytes > 18) event.cond = flags.view();
  return message.unit.book.Modify(event, ShortPrice(message.at + 16), message.sink, message.counts);
}

std::string_view PitchDecoder::DeleteOrder(PitchMessage& message) {
  Order event{message.head};
  event.id = PitchLong(message.at + 6);
  return message.unit.book.Delete(event, message.sink, message.counts);
}

// A trade against an order that is not displayed. `cond` is P and the condition.
std::string_view PitchDecoder::PutTrade(PitchMessage& message, Trade& trade, size_t cond_offset) {
  if (!IsPrintable(trade.sym)) return "its symbol is not ASCII";
  trade.side = CharAt(message.at + 14);
  const std::byte cond[] = {std::byte{'P'},
                            message.bytes > cond_offset ? message.at[cond_offset] : std::byte{' '}};
  trade.cond = PaddedText(cond, sizeof cond);
  message.sink.On(trade);
  return {};
}

std::string_view PitchDecoder::TradeLong(PitchMessage& message) {
  const std::byte* const at = message.at;
  Trade trade{message.head, PitchLongPrice(at + 25), PitchU32(at + 15)};
  trade.sym = PaddedText(at + 19, kPitchSymbolBytes);
  trade.id = PitchLong(at + 33);
  return PutTrade(message, trade, 41);
}

std::string_view PitchDecoder::TradeShort(PitchMessage& message) {
  const std::byte* const at = message.at;
  Trade trade{message.head, PitchPrice(ShortPrice(at + 23)), LoadLittle<uint16_t>(at + 15)};
  trade.sym = PaddedText(at + 17, kPitchSymbolBytes);
  trade.id = PitchLong(at + 25);
  return PutTrade(message, trade, 33);
}

std::string_view PitchDecoder::TradeExpanded(PitchMessage& message) {
  const std::byte* const at = message.at;
  Trade trade{message.head, PitchLongPrice(at + 27), PitchU32(at + 15)};
  trade.sym = PaddedText(at + 19, kPitchLongSymbolBytes);
  trade.id = PitchLong(at + 35);
  return PutTrade(message, trade, 43);
}

std::string_view PitchDecoder::BrokenTrade(PitchMessage& message) {
  TradeBreak broken{message.head};
  broken.id = PitchLong(message.at + 6);
  message.sink.On(broken);
  return {};
}

std::string_view PitchDecoder::WithoutRows(PitchMessage&) { return {}; }

}  // namespace tickstack::feed::market
