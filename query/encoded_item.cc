#include "query/encoded_item.h"

#include <algorithm>

#include "base/status.h"
#include "query/errors.h"

namespace tickstack::query {
namespace {

constexpr int kMaxDepth = 100;

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  absl::StatusOr<Value> Item(int depth);

 private:
  absl::StatusOr<std::span<const std::byte>> Take(size_t bytes) {
    if (bytes > rest_.size()) {
      return DataLoss("nested item: {} bytes left, {} expected", rest_.size(), bytes);
    }
    const std::span<const std::byte> taken = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return taken;
  }
  absl::StatusOr<std::string_view> TakeName() {
    const auto end = std::ranges::find(rest_, std::byte{0});
    const auto length = static_cast<size_t>(end - rest_.begin());
    TS_ASSIGN_OR_RETURN(const std::span<const std::byte> name, Take(length + 1));
    return AsText(name.first(length));
  }
  // The attribute byte and the count that start a vector or list.
  absl::StatusOr<size_t> TakeCount() {
    TS_ASSIGN_OR_RETURN(const std::span<const std::byte> head, Take(5));
    const auto count = LoadLittle<int32_t>(head.data() + 1);
    if (count < 0) return DataLoss("nested item: a count of {}", count);
    return static_cast<size_t>(count);
  }
  absl::StatusOr<Value> Atom(Type type);
  absl::StatusOr<Value> Vector(Type type);
  absl::StatusOr<Value> List(int depth);

  std::span<const std::byte> rest_;
};

absl::StatusOr<Value> Reader::Atom(Type type) {
  if (type == Type::kSymbol) {
    TS_ASSIGN_OR_RETURN(const std::string_view name, TakeName());
    return Value::Symbol(name);
  }
  TS_ASSIGN_OR_RETURN(const std::span<const std::byte> element, Take(WidthOf(type)));
  return Value::AtomFromBytes(type, element);
}

absl::StatusOr<Value> Reader::Vector(Type type) {
  TS_ASSIGN_OR_RETURN(const size_t count, TakeCount());
  if (type != Type::kSymbol) {
    TS_ASSIGN_OR_RETURN(const std::span<const std::byte> elements, Take(count * WidthOf(type)));
    return Value::Vector(type, ByteBuffer(elements));
  }
  SymbolVector names;
  for (size_t i = 0; i < count; ++i) {
    TS_ASSIGN_OR_RETURN(const std::string_view name, TakeName());
    names.push_back(name);
  }
  return Value::Symbols(std::move(names));
}

absl::StatusOr<Value> Reader::List(int depth) {
  TS_ASSIGN_OR_RETURN(const size_t count, TakeCount());
  std::vector<Value> items;
  for (size_t i = 0; i < count; ++i) {
    TS_ASSIGN_OR_RETURN(Value item, Item(depth + 1));
    items.push_back(std::move(item));
  }
  return Value::List(std::move(items));
}

absl::StatusOr<Value> Reader::Item(int depth) {
  if (depth > kMaxDepth) return StackError("a nested item {} levels deep", depth);
  TS_ASSIGN_OR_RETURN(const std::span<const std::byte> head, Take(1));
  const auto code = static_cast<int8_t>(head[0]);
  const auto type = static_cast<Type>(code < 0 ? -code : code);
  if (code == 0) return List(depth);
  if (IsVectorType(type)) return code < 0 ? Atom(type) : Vector(type);
  if (code == 98) TS_RETURN_IF_ERROR(Take(2).status());  // Attribute, then the dictionary's byte.
  if (code != 98 && code != 99 && code != 127) return TypeError("a nested item of code {}", code);
  TS_ASSIGN_OR_RETURN(Value keys, Item(depth + 1));
  TS_ASSIGN_OR_RETURN(Value values, Item(depth + 1));
  return Value::Pair(type, Attribute::kNone, std::move(keys), std::move(values));
}

}  // namespace

absl::StatusOr<Value> DecodeItem(std::span<const std::byte> bytes) { return Reader(bytes).Item(0); }

}  // namespace tickstack::query
