#include "table/codec.h"

#include <cstring>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/status.h"
#include "table/name_scan.h"
#include "table/value_parts.h"
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
  explicit ValueBuilder(std::span<const std::byte> walked) : rest_(walked) {}
  ValueBuilder(std::span<const std::byte> walked, size_t max_bytes)
      : rest_(walked), bytes_left_(max_bytes) {}

  // Returns whether lists and names took more than `max_bytes`. The built value is then useless.
  bool is_full() const { return is_full_; }

  Value Next() {
    if (is_full_) return Value();
    if (IsFunction(LoadLittle<int8_t>(rest_.data()))) return Function();
    const auto code = Take<int8_t>();
    const auto type = static_cast<Type>(code);
    if (type == Type::kError) return Value::Error(Name());
    if (code < 0) return Atom(static_cast<Type>(-code));
    if (type == Type::kTable) return Table();
    if (type == Type::kDict || type == Type::kSortedDict) return Pair(type, Attribute::kNone);
    return Vector(type);
  }

 private:
  std::span<const std::byte> Bytes(size_t bytes) {
    const std::span<const std::byte> taken = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return taken;
  }
  template <typename T>
  T Take() {
    return LoadLittle<T>(Bytes(sizeof(T)).data());
  }
  std::string_view Name() {
    // The walk found the NUL.
    const std::string_view name(reinterpret_cast<const char*>(rest_.data()));
    rest_ = rest_.subspan(name.size() + 1);
    return name;
  }

  Value Atom(Type type) {
    if (type == Type::kSymbol) return Value::Symbol(Name());
    return Value::AtomFromBytes(type, Bytes(WidthOf(type)));
  }

  Value Vector(Type type) {
    const auto attribute = Take<Attribute>();
    const auto count = static_cast<size_t>(Take<int32_t>());
    if (type == Type::kList) return List(count, attribute);
    if (type == Type::kSymbol) return Value::Symbols(Names(count), attribute);
    return Value::Vector(type, ByteBuffer(Bytes(count * WidthOf(type))), attribute);
  }

  Value List(size_t count, Attribute attribute) {
    if (!Charge(count * sizeof(Value))) return Value();
    std::vector<Value> items;
    items.reserve(count);
    for (size_t i = 0; i < count; ++i) items.push_back(Next());
    return Value::List(std::move(items), attribute);
  }

  SymbolVector Names(size_t count) {
    const size_t text_bytes = BytesOfNames(rest_, count);
    SymbolVector names;
    if (!Charge(text_bytes + count * sizeof(uint64_t))) return names;
    names.reserve(count, text_bytes);
    for (size_t i = 0; i < count; ++i) names.push_back(Name());
    return names;
  }

  Value Table() {
    const auto attribute = Take<Attribute>();
    Bytes(1);  // Skips the type of its dictionary.
    return Pair(Type::kTable, attribute);
  }

  Value Pair(Type type, Attribute attribute) {
    Value keys = Next();
    Value values = Next();
    return Value::Pair(type, attribute, std::move(keys), std::move(values));
  }

  static bool IsFunction(int8_t code) { return code >= 100 && code <= 112; }

  // Finds only the size of a function, because functions stay bytes.
  Value Function() {
    const absl::StatusOr<size_t> bytes = WalkWholeValue(rest_, 1, 0);
    TS_CHECK(bytes.ok());  // It was well-formed as a part of the whole, at a greater depth.
    return Value::Function(ByteBuffer(Bytes(*bytes)));
  }

  std::span<const std::byte> rest_;
  // Charges what takes more memory than its bytes on the wire.
  bool Charge(size_t bytes) {
    is_full_ = is_full_ || bytes > bytes_left_;
    if (!is_full_) bytes_left_ -= bytes;
    return !is_full_;
  }

  size_t bytes_left_ = std::numeric_limits<size_t>::max();
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
  TS_ASSIGN_OR_RETURN(*used, WalkWholeValue(body, 1, 0));
  return ValueBuilder(body.first(*used)).Next();
}

absl::StatusOr<Value> Decode(std::span<const std::byte> body) {
  TS_ASSIGN_OR_RETURN(const size_t used, WalkWholeValue(body, 1, 0));
  TS_RETURN_IF_ERROR(CheckWalked(used, body));
  return ValueBuilder(body).Next();
}

absl::StatusOr<Value> DecodeWithin(std::span<const std::byte> body, size_t max_bytes) {
  if (body.size() > max_bytes) {
    return ResourceExhausted("a value of {} bytes, at most {}", body.size(), max_bytes);
  }
  TS_ASSIGN_OR_RETURN(const size_t used, WalkWholeValue(body, 1, 0));
  TS_RETURN_IF_ERROR(CheckWalked(used, body));
  ValueBuilder builder(body, max_bytes);
  Value value = builder.Next();
  if (!builder.is_full()) return value;
  return ResourceExhausted("a value of {} bytes that takes more than {} in memory", body.size(),
                           max_bytes);
}

}  // namespace tickstack
