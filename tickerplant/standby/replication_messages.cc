#include "tickerplant/standby/replication_messages.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/crc32c.h"
#include "base/status.h"
#include "base/time.h"
#include "wire/codec.h"
#include "wire/ipc.h"
#include "wire/protocol.h"
#include "wire/whole_message.h"

namespace tickstack::tickerplant {

namespace protocol = wire::protocol;
namespace {

absl::Status WrongForm(std::string_view verb) {
  return InvalidArgument("{}: a message of another form, perhaps of another version", verb);
}

bool IsLong(const Value& value) {
  return value.is_atom_of(Type::kLong) && value.as<int64_t>() >= 0;
}
uint64_t LongOf(const Value& value) { return static_cast<uint64_t>(value.as<int64_t>()); }
bool IsDate(const Value& value) { return value.is_atom_of(Type::kDate); }
// Times that can be added and subtracted: a century around 2000.
bool IsClock(const Value& value) {
  constexpr int64_t kCenturyNs = 36'525 * kNsPerDay;
  return value.is_atom_of(Type::kTimestamp) && value.as<int64_t>() > -kCenturyNs &&
         value.as<int64_t>() < kCenturyNs;
}

Value Long(uint64_t value) { return Value::Long(static_cast<int64_t>(value)); }

Value Longs(const std::vector<int64_t>& values) {
  return Value::Vector(Type::kLong, std::span<const int64_t>(values));
}

}  // namespace

absl::StatusOr<ByteBuffer> EncodeReplicaBlock(uint64_t epoch, ReplicaPlace at,
                                              const tplog::TplogBlock& block) {
  size_t bytes = 0;
  uint32_t crc = 0;
  for (const std::span<const std::byte> segment : block.segments) {
    bytes += segment.size();
    crc = ExtendCrc32c(crc, segment);
  }
  if (bytes > kReplicaBlockBytesMax) {
    return ResourceExhausted("{}: {} bytes, at most {}", protocol::kReplicaBlock, bytes,
                             kReplicaBlockBytesMax);
  }
  SymbolVector tables;
  std::vector<int64_t> rows;
  for (const tplog::TplogBlock::Rows& each : block.rows) {
    tables.push_back(each.table);
    rows.push_back(each.rows);
  }
  const Value head = Value::List(
      {Value::Symbol(protocol::kReplicaBlock), Long(epoch), Value::Date(at.date), Long(at.seq),
       Value::Timestamp(block.time_ns), Value::Symbol(block.feed),
       Value::Symbols(std::move(tables)), Longs(rows), Long(block.messages), Long(crc)});
  return wire::EncodeWithBytes(wire::MessageKind::kAsync, head, block.segments);
}

absl::StatusOr<ByteBuffer> EncodeLoggedBlock(uint64_t epoch, int32_t date,
                                             const tplog::TplogBlocks& blocks,
                                             const tplog::IndexBlock& block) {
  TS_ASSIGN_OR_RETURN(const ByteBuffer bytes, blocks.BytesOf(block));
  const tplog::IndexDictionary& names = blocks.names();
  std::vector<tplog::TplogBlock::Rows> rows;
  for (const tplog::IndexRows& each : block.rows) {
    rows.push_back({names.tables.NameOf(each.table), each.rows});
  }
  const std::span<const std::byte> segment = bytes;
  const std::string_view feed =
      block.source == tplog::kSourceNone ? std::string_view() : names.feeds.NameOf(block.source);
  return EncodeReplicaBlock(epoch, {date, block.first_seq},
                            {.segments = {&segment, 1},
                             .messages = block.messages,
                             .time_ns = block.time_ns,
                             .feed = feed,
                             .rows = rows});
}

absl::StatusOr<ReplicaBlock> ParseReplicaBlock(const Value& message) {
  constexpr size_t kItems = 11;
  if (!message.is_list() || message.count() != kItems) return WrongForm(protocol::kReplicaBlock);
  const std::vector<Value>& items = message.items();
  const bool fits = IsLong(items[1]) && IsDate(items[2]) && IsLong(items[3]) &&
                    items[4].is_atom_of(Type::kTimestamp) && items[5].is_atom_of(Type::kSymbol) &&
                    items[6].is(Type::kSymbol) && items[7].is(Type::kLong) && IsLong(items[8]) &&
                    IsLong(items[9]) && items[10].is(Type::kByte);
  if (!fits || items[6].symbols().size() != items[7].count())
    return WrongForm(protocol::kReplicaBlock);
  if (LongOf(items[8]) > UINT32_MAX || LongOf(items[9]) > UINT32_MAX)
    return WrongForm(protocol::kReplicaBlock);
  ReplicaBlock block;
  block.epoch = LongOf(items[1]);
  block.at = {items[2].as<int32_t>(), LongOf(items[3])};
  block.time_ns = items[4].as<int64_t>();
  block.feed = items[5].symbol();
  for (size_t i = 0; i < items[7].count(); ++i) {
    const int64_t rows = items[7].span<int64_t>()[i];
    if (rows < 0 || rows > int64_t{UINT32_MAX}) return WrongForm(protocol::kReplicaBlock);
    block.tables.emplace_back(items[6].symbols()[i]);
    block.rows.push_back(static_cast<uint32_t>(rows));
  }
  block.messages = static_cast<uint32_t>(LongOf(items[8]));
  block.crc = static_cast<uint32_t>(LongOf(items[9]));
  block.bytes = items[10].elements();
  if (Crc32c(block.bytes) != block.crc) {
    return DataLoss("{}: the bytes of message {} on do not match their checksum",
                    protocol::kReplicaBlock, block.at.seq);
  }
  std::span<const std::byte> rest = block.bytes;
  for (uint32_t i = 0; i < block.messages; ++i) {
    const absl::StatusOr<std::optional<size_t>> bytes = wire::ValueBytes(rest);
    if (rest.empty() || !bytes.ok() || !*bytes) {
      return DataLoss("{}: the bytes of message {} are not a whole value", protocol::kReplicaBlock,
                      block.at.seq + i);
    }
    rest = rest.subspan(**bytes);
  }
  if (!rest.empty() || block.messages == 0) {
    return DataLoss("{}: {} bytes follow {} messages", protocol::kReplicaBlock, rest.size(),
                    block.messages);
  }
  return block;
}

ByteBuffer EncodeNextDay(const ReplicaNextDay& day) {
  return wire::EncodeMessage(wire::MessageKind::kAsync,
                             Value::List({Value::Symbol(protocol::kReplicaNextDay), Long(day.epoch),
                                          Value::Date(day.date), Value::Date(day.next)}));
}

absl::StatusOr<ReplicaNextDay> ParseNextDay(const Value& message) {
  constexpr size_t kItems = 4;
  if (!message.is_list() || message.count() != kItems) return WrongForm(protocol::kReplicaNextDay);
  const std::vector<Value>& items = message.items();
  if (!IsLong(items[1]) || !IsDate(items[2]) || !IsDate(items[3]))
    return WrongForm(protocol::kReplicaNextDay);
  return ReplicaNextDay{LongOf(items[1]), items[2].as<int32_t>(), items[3].as<int32_t>()};
}

Value AckMessage(const ReplicaAck& ack) {
  std::vector<Value> message = {Value::Symbol(protocol::kReplicaAcked), Long(ack.epoch),
                                Value::Date(ack.place.date), Long(ack.place.seq)};
  if (ack.clock_ns) message.push_back(Value::Timestamp(*ack.clock_ns));
  return Value::List(std::move(message));
}

absl::StatusOr<ReplicaAck> ParseAck(std::span<const Value> args) {
  const bool has_clock = args.size() == 4;
  const bool fits = (args.size() == 3 || has_clock) && IsLong(args[0]) && IsDate(args[1]) &&
                    IsLong(args[2]) && (!has_clock || IsClock(args[3]));
  if (!fits) return WrongForm(protocol::kReplicaAcked);
  ReplicaAck ack{LongOf(args[0]), {args[1].as<int32_t>(), LongOf(args[2])}};
  if (has_clock) ack.clock_ns = args[3].as<int64_t>();
  return ack;
}

Value RequestMessage(const ReplicaRequest& request) {
  std::vector<int64_t> seqs, digests;
  for (const tplog::LogEnd& end : request.ends) {
    seqs.push_back(static_cast<int64_t>(end.seq));
    digests.push_back(static_cast<int64_t>(end.digest));
  }
  std::vector<Value> message = {Value::String(protocol::kReplicate),
                                Value::Symbol(request.name),
                                Long(request.epoch),
                                Value::Date(request.date),
                                Longs(seqs),
                                Longs(digests)};
  const bool has_tables = !request.tables.empty();
  const bool has_clock = request.clock_ns || has_tables;
  if (request.shard != ShardId() || has_clock) {
    message.push_back(request.shard == ShardId() ? Value() : AnswerOf(request.shard));
  }
  if (has_clock) {
    message.push_back(request.clock_ns ? Value::Timestamp(*request.clock_ns) : Value());
  }
  if (has_tables) message.push_back(Value::String(request.tables));
  return Value::List(std::move(message));
}

absl::StatusOr<ReplicaRequest> ParseRequest(std::span<const Value> args) {
  const bool has_tables = args.size() == 8;
  const bool has_clock = args.size() == 7 || (has_tables && !args[6].is_null());
  const bool has_shard = args.size() == 6 || (args.size() > 6 && !args[5].is_null());
  const std::optional<ShardId> shard = has_shard ? ParseShardId(args[5]) : ShardId();
  const bool fits = args.size() >= 5 && args.size() <= 8 && shard &&
                    args[0].is_atom_of(Type::kSymbol) && IsLong(args[1]) && IsDate(args[2]) &&
                    args[3].is(Type::kLong) && args[4].is(Type::kLong) &&
                    args[3].count() == args[4].count() && (!has_clock || IsClock(args[6])) &&
                    (!has_tables || args[7].is_string());
  if (!fits) return WrongForm(protocol::kReplicate);
  ReplicaRequest request{
      std::string(args[0].symbol()), LongOf(args[1]), args[2].as<int32_t>(), {}, *shard};
  if (has_clock) request.clock_ns = args[6].as<int64_t>();
  if (has_tables) request.tables = args[7].text();
  if (request.name.empty() || request.name.size() > kReplicaNameBytesMax ||
      args[3].count() > kReplicaEndsMax) {
    return InvalidArgument("length: {}: a name of {} bytes and {} places", protocol::kReplicate,
                           request.name.size(), args[3].count());
  }
  for (size_t i = 0; i < args[3].count(); ++i) {
    const int64_t seq = args[3].span<int64_t>()[i];
    const bool ascends =
        seq >= 0 && (request.ends.empty() || static_cast<uint64_t>(seq) > request.ends.back().seq);
    if (!ascends) return WrongForm(protocol::kReplicate);
    request.ends.push_back(
        {static_cast<uint64_t>(seq), static_cast<uint64_t>(args[4].span<int64_t>()[i])});
  }
  return request;
}

Value StartAnswer(const ReplicaStart& start) {
  SymbolVector feeds, tables;
  std::vector<int64_t> rows;
  for (const auto& [feed, of_feed] : start.carried) {
    for (const auto& [table, count] : of_feed) {
      feeds.push_back(feed);
      tables.push_back(table);
      rows.push_back(static_cast<int64_t>(count));
    }
  }
  return Value::List({Long(start.epoch), Value::Date(start.place.date), Long(start.place.seq),
                      Value::Symbols(std::move(feeds)), Value::Symbols(std::move(tables)),
                      Longs(rows)});
}

absl::StatusOr<ReplicaStart> ParseStart(const Value& answer) {
  constexpr size_t kItems = 6;
  if (!answer.is_list() || answer.count() != kItems) return WrongForm(protocol::kReplicate);
  const std::vector<Value>& items = answer.items();
  const bool fits = IsLong(items[0]) && IsDate(items[1]) && IsLong(items[2]) &&
                    items[3].is(Type::kSymbol) && items[4].is(Type::kSymbol) &&
                    items[5].is(Type::kLong) && items[3].count() == items[5].count() &&
                    items[4].count() == items[5].count();
  if (!fits) return WrongForm(protocol::kReplicate);
  ReplicaStart start{LongOf(items[0]), {items[1].as<int32_t>(), LongOf(items[2])}, {}};
  for (size_t i = 0; i < items[5].count(); ++i) {
    const int64_t rows = items[5].span<int64_t>()[i];
    if (rows < 0) return WrongForm(protocol::kReplicate);
    start.carried[std::string(items[3].symbols()[i])][std::string(items[4].symbols()[i])] =
        static_cast<uint64_t>(rows);
  }
  return start;
}

bool AsksForReplica(const Value& request) {
  if (request.is_string()) {
    const std::string_view text = request.text();
    return text == protocol::kReplica || text == fmt::format("{}[]", protocol::kReplica);
  }
  const bool is_call = request.is_list() && request.count() > 0;
  const Value* const verb = is_call ? &request.items()[0] : nullptr;
  if (verb == nullptr) return false;
  if (verb->is_atom_of(Type::kSymbol)) return verb->symbol() == protocol::kReplica;
  return verb->is_string() && verb->text() == protocol::kReplica;
}

}  // namespace tickstack::tickerplant
