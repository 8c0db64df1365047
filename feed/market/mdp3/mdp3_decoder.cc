#include "feed/market/mdp3/mdp3_decoder.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/byte_buffer.h"
#include "feed/market/dropped_messages.h"
#include "feed/market/exchange_day.h"
#include "feed/market/mdp3/mdp3_books.h"
#include "feed/market/mdp3/mdp3_instruments.h"
#include "feed/market/mdp3/mdp3_statistics.h"
#include "feed/market/mdp3/mdp3_trades.h"

namespace tickstack::feed::market {
namespace {

constexpr size_t kSizeBytes = 2, kMdpHeadBytes = 10;  // The size, and the rest of the head.
constexpr uint16_t kSchema = 1;

std::string_view WithoutRows(Mdp3Message&) { return {}; }

}  // namespace

const Mdp3Decoder::MessageType Mdp3Decoder::kTypes[] = {
    {4, 9, 0, &DecodeMdp3ChannelReset},
    {12, 0, 0, &WithoutRows},  // Heartbeat.
    {15, 0, 0, &WithoutRows},  // Login.
    {16, 0, 0, &WithoutRows},  // Logout.
    {27, 148, 0, &DecodeMdp3Definition},
    {29, 110, 0, &DecodeMdp3Definition},
    {30, 30, 0, &DecodeMdp3SecurityStatus},
    {32, 9, 27, &DecodeMdp3Book<false>},
    {33, 9, 25, &DecodeMdp3DailyStatistics},
    {34, 9, 28, &DecodeMdp3Limits},
    {35, 9, 19, &DecodeMdp3SessionStatistics<false>},
    {36, 9, 30, &DecodeMdp3OldTrade},
    {37, 9, 13, &DecodeMdp3Volume<false>},
    {38, 0, 0, &WithoutRows},  // Snapshot.
    {39, 0, 0, &WithoutRows},  // Quote request.
    {41, 177, 0, &DecodeMdp3Definition},
    {42, 9, 26, &DecodeMdp3TradeSummary<false>},
    {43, 9, 34, &DecodeMdp3OrderBook},
    {44, 0, 0, &WithoutRows},  // Snapshot of orders.
    {46, 9, 27, &DecodeMdp3Book<false>},
    {47, 9, 34, &DecodeMdp3OrderBook},
    {48, 9, 30, &DecodeMdp3TradeSummary<false>},
    {49, 9, 25, &DecodeMdp3DailyStatistics},
    {50, 9, 28, &DecodeMdp3Limits},
    {51, 9, 19, &DecodeMdp3SessionStatistics<false>},
    {52, 0, 0, &WithoutRows},  // Snapshot.
    {53, 0, 0, &WithoutRows},  // Snapshot of orders.
    {54, 148, 0, &DecodeMdp3Definition},
    {55, 177, 0, &DecodeMdp3Definition},
    {56, 110, 0, &DecodeMdp3Definition},
    {57, 102, 0, &DecodeMdp3Definition},
    {58, 102, 0, &DecodeMdp3Definition},
    {59, 0, 0, &WithoutRows},  // Snapshot of the first orders.
    {60, 0, 0, &WithoutRows},  // Status of a workup.
    {61, 0, 0, &WithoutRows},  // Snapshot.
    {62, 0, 0, &WithoutRows},  // Value of collateral.
    {63, 105, 0, &DecodeMdp3Definition},
    {64, 9, 31, &DecodeMdp3Book<true>},
    {65, 9, 34, &DecodeMdp3TradeSummary<true>},
    {66, 9, 17, &DecodeMdp3Volume<true>},
    {67, 9, 27, &DecodeMdp3SessionStatistics<true>},
    {68, 0, 0, &WithoutRows},  // Snapshot.
    {69, 0, 0, &WithoutRows},  // Snapshot.
};

std::string_view Mdp3Decoder::CheckSizes(std::span<const std::byte> packet) {
  if (packet.size() < kPacketHeadBytes) return "it is shorter than the head of a packet";
  for (std::span<const std::byte> rest = packet.subspan(kPacketHeadBytes); !rest.empty();) {
    if (rest.size() < kMdpHeadBytes) return "it ends within the head of a message";
    const size_t size = LoadLittle<uint16_t>(rest.data());
    if (size < kMdpHeadBytes) return "a message is shorter than its head";
    if (size > rest.size()) return "it ends within a message";
    rest = rest.subspan(size);
  }
  return {};
}

std::string_view Mdp3Decoder::DecodePacket(std::span<const std::byte> packet, const EventHead& head,
                                           EventSink& sink, MessageCounts& counts) {
  std::string_view bad;
  for (std::span<const std::byte> rest = packet.subspan(kPacketHeadBytes); !rest.empty();) {
    const size_t size = LoadLittle<uint16_t>(rest.data());
    const std::string_view why = DecodeMessage(rest.first(size), head, sink, counts);
    if (!why.empty()) {
      bad = why;
      bad_template_ = template_;
    }
    rest = rest.subspan(size);
  }
  return bad;
}

std::string_view Mdp3Decoder::DecodeMessage(std::span<const std::byte> bytes, const EventHead& head,
                                            EventSink& sink, MessageCounts& counts) {
  template_ = LoadLittle<uint16_t>(bytes.data() + 4);
  const auto counted = static_cast<uint8_t>(std::min<uint16_t>(template_, UINT8_MAX));
  const auto* const known = std::ranges::lower_bound(kTypes, template_, {}, &MessageType::number);
  if (known == std::end(kTypes) || known->number != template_) {
    ++counts.unknown[counted];
    return {};
  }
  const double price_units = template_ <= 44 ? 1e7 : 1e9;
  Mdp3Message message = {nullptr, {}, {}, template_, price_units, head, symbols_, sink};
  std::string_view why = Start(bytes, *known, message);
  // A message that does not fit gives no row, also of its entries before that place.
  if (why.empty()) {
    NoEvents nowhere;
    Mdp3Message tried = {message.root, message.group, message.rest, template_,
                         price_units,  message.head,  symbols_,     nowhere};
    why = known->decode(tried);
  }
  if (why.empty()) known->decode(message);
  ++(why.empty() ? counts.decoded : counts.bad)[counted];
  return why;
}

// Finds the root block and the first group, and reads the time of those that begin with it.
std::string_view Mdp3Decoder::Start(std::span<const std::byte> bytes, const MessageType& type,
                                    Mdp3Message& message) {
  const size_t block_bytes = LoadLittle<uint16_t>(bytes.data() + kSizeBytes);
  if (LoadLittle<uint16_t>(bytes.data() + 6) != kSchema) return "its schema is not 1";
  message.rest = bytes.subspan(kMdpHeadBytes);
  message.root = message.rest.data();
  if (block_bytes > message.rest.size()) return "it ends within its root block";
  if (block_bytes < type.root_bytes) return "its root block is shorter than its type";
  message.rest = message.rest.subspan(block_bytes);
  if (type.decode == &WithoutRows || type.decode == &DecodeMdp3Definition) {
    return {};
  }
  const std::optional<int64_t> time_ns = UnixTimeNs(LoadLittle<int64_t>(message.root));
  if (!time_ns) return "its time is not in 1970 to 2200";
  message.head.time_ns = *time_ns;
  if (type.entry_bytes == 0) return {};
  return TakeMdp3Group(message.rest, kMdp3GroupHead, type.entry_bytes, message.group);
}

}  // namespace tickstack::feed::market
