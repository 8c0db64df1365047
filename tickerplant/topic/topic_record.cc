#include "tickerplant/topic/topic_record.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "base/crc32c.h"
#include "base/status.h"
#include "wire/codec.h"
#include "wire/ipc.h"
#include "wire/whole_message.h"

namespace tickstack::tickerplant {

namespace {

constexpr std::array<std::pair<std::string_view, TopicRecord::Kind>, 6> kRecordVerbs = {{
    {"claim", TopicRecord::Kind::kClaim},
    {"part", TopicRecord::Kind::kPart},
    {"nextday", TopicRecord::Kind::kNextDay},
    {"tables", TopicRecord::Kind::kTables},
    {"alive", TopicRecord::Kind::kAlive},
    {"resign", TopicRecord::Kind::kResign},
}};

std::string_view VerbOf(TopicRecord::Kind kind) {
  for (const auto& [verb, of] : kRecordVerbs) {
    if (of == kind) return verb;
  }
  return {};
}

Value LongOfRecord(uint64_t value) { return Value::Long(static_cast<int64_t>(value)); }

// Reads items of a message in turn; afterwards `ok()` says whether all had their types.
class Items {
 public:
  explicit Items(const std::vector<Value>& items) : items_(items) {}
  bool ok() const { return ok_ && at_ == items_.size(); }

  int64_t Long() {
    const Value* const item = Next();
    if (item != nullptr && item->is_atom_of(Type::kLong)) return item->as<int64_t>();
    ok_ = false;
    return 0;
  }
  template <typename T = uint64_t>
  T Count() {
    const int64_t value = Long();
    if (value < 0 || (sizeof(T) < sizeof(value) && value > int64_t{INT32_MAX})) ok_ = false;
    return static_cast<T>(value);
  }
  int32_t Date() {
    const Value* const item = Next();
    if (item != nullptr && item->is_atom_of(Type::kDate)) return item->as<int32_t>();
    ok_ = false;
    return kNullInt;
  }
  std::string Symbol() {
    const Value* const item = Next();
    const bool fits = item != nullptr && item->is_atom_of(Type::kSymbol) &&
                      item->symbol().size() <= kReplicaNameBytesMax;
    if (fits) return std::string(item->symbol());
    ok_ = false;
    return {};
  }
  std::string Text() {
    const Value* const item = Next();
    if (item != nullptr && item->is_string()) return std::string(item->text());
    ok_ = false;
    return {};
  }
  const Value* Of(Type type) {
    const Value* const item = Next();
    if (item != nullptr && item->is(type)) return item;
    ok_ = false;
    return nullptr;
  }
  const Value* Next() {
    if (at_ < items_.size()) return &items_[at_++];
    ok_ = false;
    return nullptr;
  }
  void Refuse() { ok_ = false; }

 private:
  const std::vector<Value>& items_;
  size_t at_ = 1;  // After the verb.
  bool ok_ = true;
};

void ReadCarriedRows(Items& items, NameMap<tplog::TableRows>& carried) {
  const Value* const feeds = items.Of(Type::kSymbol);
  const Value* const tables = items.Of(Type::kSymbol);
  const Value* const rows = items.Of(Type::kLong);
  if (feeds == nullptr || tables == nullptr || rows == nullptr) return;
  if (feeds->count() != rows->count() || tables->count() != rows->count()) return items.Refuse();
  for (size_t i = 0; i < rows->count(); ++i) {
    const int64_t count = rows->span<int64_t>()[i];
    if (count < 0) return items.Refuse();
    carried[std::string(feeds->symbols()[i])][std::string(tables->symbols()[i])] =
        static_cast<uint64_t>(count);
  }
}

void AddCarriedRows(const NameMap<tplog::TableRows>& carried, std::vector<Value>& items) {
  SymbolVector feeds, tables;
  std::vector<int64_t> rows;
  for (const auto& [feed, of_feed] : carried) {
    for (const auto& [table, count] : of_feed) {
      feeds.push_back(feed);
      tables.push_back(table);
      rows.push_back(static_cast<int64_t>(count));
    }
  }
  items.push_back(Value::Symbols(std::move(feeds)));
  items.push_back(Value::Symbols(std::move(tables)));
  items.push_back(Value::Vector(Type::kLong, std::span<const int64_t>(rows)));
}

ByteBuffer EncodeRecord(const TopicRecord& record) {
  std::vector<Value> items = {Value::Symbol(VerbOf(record.kind))};
  if (record.kind != TopicRecord::Kind::kClaim) items.push_back(LongOfRecord(record.epoch));
  switch (record.kind) {
    case TopicRecord::Kind::kClaim:
      items.push_back(Value::Long(record.after));
      items.push_back(Value::Symbol(record.name));
      items.push_back(Value::Symbol(record.address));
      items.push_back(LongOfRecord(record.instance));
      items.push_back(AnswerOf(record.shard));
      break;
    case TopicRecord::Kind::kPart:
      items.push_back(Value::Date(record.place.date));
      items.push_back(LongOfRecord(record.place.seq));
      items.push_back(Value::Long(record.messages));
      items.push_back(Value::Long(record.part));
      items.push_back(Value::Long(record.parts));
      return wire::EncodeWithBytes(wire::MessageKind::kAsync, Value::List(std::move(items)),
                                   {&record.bytes, 1});
    case TopicRecord::Kind::kNextDay:
      items.push_back(Value::Date(record.place.date));
      items.push_back(LongOfRecord(record.place.seq));
      items.push_back(Value::Long(record.after));
      items.push_back(Value::Date(record.next));
      AddCarriedRows(record.carried, items);
      break;
    case TopicRecord::Kind::kTables:
      items.push_back(Value::String(record.tables));
      break;
    case TopicRecord::Kind::kAlive:
    case TopicRecord::Kind::kResign:
      items.push_back(LongOfRecord(record.instance));
      break;
  }
  return wire::EncodeMessage(wire::MessageKind::kAsync, Value::List(std::move(items)));
}

}  // namespace

ByteBuffer EncodeTopicRecord(TopicRecord& record) {
  ByteBuffer bytes = EncodeRecord(record);
  record.crc = Crc32c(bytes);
  return bytes;
}

absl::StatusOr<TopicRecord> ParseTopicRecord(std::span<const std::byte> bytes) {
  TS_ASSIGN_OR_RETURN(Value body, wire::DecodeMessage(bytes));
  const auto wrong = [] { return InvalidArgument("a record of another form"); };
  const bool has_verb =
      body.is_list() && body.count() > 0 && body.items()[0].is_atom_of(Type::kSymbol);
  if (!has_verb) return wrong();
  const std::string_view verb = body.items()[0].symbol();
  const auto* const found =
      std::ranges::find(kRecordVerbs, verb, &std::pair<std::string_view, TopicRecord::Kind>::first);
  if (found == kRecordVerbs.end()) return wrong();
  TopicRecord record;
  record.kind = found->second;
  record.crc = Crc32c(bytes);
  record.body = std::move(body);
  Items items(record.body.items());
  if (record.kind != TopicRecord::Kind::kClaim) record.epoch = items.Count();
  switch (record.kind) {
    case TopicRecord::Kind::kClaim: {
      record.after = items.Long();
      record.name = items.Symbol();
      record.address = items.Symbol();
      record.instance = static_cast<uint64_t>(items.Long());
      const Value* const shard = items.Next();
      const std::optional<ShardId> id = shard == nullptr ? std::nullopt : ParseShardId(*shard);
      if (!id || record.name.empty()) return wrong();
      record.shard = *id;
      break;
    }
    case TopicRecord::Kind::kPart: {
      record.place.date = items.Date();
      record.place.seq = items.Count();
      record.messages = items.Count<uint32_t>();
      record.part = items.Count<uint32_t>();
      record.parts = items.Count<uint32_t>();
      const Value* const part = items.Of(Type::kByte);
      if (part == nullptr || record.messages == 0 || record.part >= record.parts) return wrong();
      record.bytes = part->elements();
      break;
    }
    case TopicRecord::Kind::kNextDay:
      record.place.date = items.Date();
      record.place.seq = items.Count();
      record.after = items.Long();
      record.next = items.Date();
      ReadCarriedRows(items, record.carried);
      if (record.next == kNullInt) return wrong();
      break;
    case TopicRecord::Kind::kTables:
      record.tables = items.Text();
      break;
    case TopicRecord::Kind::kAlive:
    case TopicRecord::Kind::kResign:
      record.instance = static_cast<uint64_t>(items.Long());
      break;
  }
  if (!items.ok()) return wrong();
  return record;
}

}  // namespace tickstack::tickerplant
