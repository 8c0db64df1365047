#include "table/codec.h"

#include <cstring>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/status.h"
#include "table/value_parts.h"
#include "table/value_reader.h"
#include "table/walk.h"

namespace tickstack {
namespace {

// Returns false if a count does not fit the wire.
bool AddBytes(const Value& value, size_t* bytes) {
  if ((value.is_vector() || value.is_list()) && value.count() > kCountMax) return false;
  const ValueParts parts = PartsOf(value);
  *bytes += parts.bytes();
  for (size_t i = 0; i < parts.children; ++i) {
    if (!AddBytes(ChildOf(value, i), bytes)) return false;
  }
  return true;
}

// Builds a value from bytes that a walk found to be well-formed, without checking anything again.
class ValueBuilder {
 public:
  explicit ValueBuilder(std::span<const std::byte> walked,
                        size_t max_bytes = std::numeric_limits<size_t>::max())
      : reader_(walked), bytes_left_(max_bytes) {}

  // Returns whether lists and names took more than `max_bytes`. The built value is then useless.
  bool is_full() const { return is_full_; }

  Value Next() {
    if (is_full_) return Value();
    const size_t begin = reader_.offset();
    const Head head = TakeHead();
    const auto type = static_cast<Type>(head.code);
    if (type == Type::kError) return Value::Error(NameIn(head));
    if (head.code < 0) return Atom(head);
    if (type == Type::kList) return List(head);
    if (IsVectorType(type)) return Vector(head);
    if (type == Type::kDict || type == Type::kSortedDict) return Pair(type, Attribute::kNone);
    if (type != Type::kTable) return Function(begin, head);
    TakeHead();  // Its dictionary.
    return Pair(Type::kTable, head.attribute);
  }

 private:
  using Reader = ValueReader<const std::byte>;
  using Head = Reader::Head;

  Head TakeHead() {
    Head head;
    const ReadOutcome outcome = reader_.TakeHead(&head);
    TS_DCHECK(outcome == ReadOutcome::kWhole);
    static_cast<void>(outcome);
    return head;
  }
  static std::string_view NameIn(const Head& head) {
    return AsText(head.elements.first(head.elements.size() - 1));  // Without its NUL.
  }

  static Value Atom(const Head& head) {
    const auto type = static_cast<Type>(-head.code);
    if (type == Type::kSymbol) return Value::Symbol(NameIn(head));
    return Value::AtomFromBytes(type, head.elements);
  }

  Value Vector(const Head& head) {
    const auto type = static_cast<Type>(head.code);
    if (type == Type::kSymbol) return Value::Symbols(Names(head), head.attribute);
    return Value::Vector(type, ByteBuffer(head.elements), head.attribute);
  }

  Value List(const Head& head) {
    if (!Charge(head.count * sizeof(Value))) return Value();
    std::vector<Value> items;
    items.reserve(head.count);
    for (size_t i = 0; i < head.count; ++i) items.push_back(Next());
    return Value::List(std::move(items), head.attribute);
  }

  SymbolVector Names(const Head& head) {
    SymbolVector names;
    if (!Charge(head.elements.size() + head.count * sizeof(uint64_t))) return names;
    names.reserve(head.count, head.elements.size());
    const char* at = reinterpret_cast<const char*>(head.elements.data());
    for (size_t i = 0; i < head.count; ++i) {
      const std::string_view name(at);  // The walk found the NUL.
      names.push_back(name);
      at += name.size() + 1;
    }
    return names;
  }

  Value Pair(Type type, Attribute attribute) {
    Value keys = Next();
    Value values = Next();
    return Value::Pair(type, attribute, std::move(keys), std::move(values));
  }

  // Finds only the size of a function, because functions stay bytes.
  Value Function(size_t begin, const Head& head) {
    for (uint64_t values = head.inner_values; values > 0;) values += TakeHead().inner_values - 1;
    return Value::Function(ByteBuffer(reader_.From(begin)));
  }

  // Charges what takes more memory than its bytes on the wire.
  bool Charge(size_t bytes) {
    is_full_ = is_full_ || bytes > bytes_left_;
    if (!is_full_) bytes_left_ -= bytes;
    return !is_full_;
  }

  Reader reader_;
  size_t bytes_left_;
  bool is_full_ = false;
};

absl::Status CheckWalked(size_t used, std::span<const std::byte> body) {
  if (used == body.size()) return absl::OkStatus();
  return InvalidArgument("byte {}: the value ends here, its message at byte {}", used, body.size());
}

}  // namespace

absl::StatusOr<size_t> EncodedBytes(const Value& value) {
  size_t bytes = 0;
  if (!AddBytes(value, &bytes)) {
    return InvalidArgument("a vector of more than {} elements, which no message can carry",
                           kCountMax);
  }
  return bytes;
}

void Encode(const Value& value, ByteBuffer& out) {
  const ValueParts parts = PartsOf(value);
  out.Append(parts.head_span());
  out.Append(parts.raw);
  if (parts.ends_with_nul) out.AppendLittle(char{0});
  for (size_t i = 0; i < parts.children; ++i) Encode(ChildOf(value, i), out);
}

absl::StatusOr<Value> DecodePrefix(std::span<const std::byte> body, size_t* used) {
  TS_ASSIGN_OR_RETURN(*used, WalkWholeValue(body));
  return ValueBuilder(body.first(*used)).Next();
}

absl::StatusOr<Value> Decode(std::span<const std::byte> body) {
  TS_ASSIGN_OR_RETURN(const size_t used, WalkWholeValue(body));
  TS_RETURN_IF_ERROR(CheckWalked(used, body));
  return ValueBuilder(body).Next();
}

absl::StatusOr<Value> DecodeWithin(std::span<const std::byte> body, size_t max_bytes) {
  if (body.size() > max_bytes) {
    return ResourceExhausted("a value of {} bytes, at most {}", body.size(), max_bytes);
  }
  TS_ASSIGN_OR_RETURN(const size_t used, WalkWholeValue(body));
  TS_RETURN_IF_ERROR(CheckWalked(used, body));
  ValueBuilder builder(body, max_bytes);
  Value value = builder.Next();
  if (!builder.is_full()) return value;
  return ResourceExhausted("a value of {} bytes that takes more than {} in memory", body.size(),
                           max_bytes);
}

}  // namespace tickstack
