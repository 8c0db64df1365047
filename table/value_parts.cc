#include "table/value_parts.h"

#include <cstring>

#include "base/check.h"
#include "table/codec.h"

namespace tickstack {
namespace {

template <typename T>
void AppendTo(ValueParts& parts, T number) {
  std::memcpy(parts.head.data() + parts.head_bytes, &number, sizeof(T));
  parts.head_bytes += sizeof(T);
}

void TakeVector(const Value& value, ValueParts& parts) {
  TS_CHECK(value.count() <= kCountMax);
  AppendTo(parts, static_cast<uint8_t>(value.attribute()));
  AppendTo(parts, static_cast<int32_t>(value.count()));
  if (value.is_list()) {
    parts.children = value.items().size();
  } else if (value.is(Type::kSymbol)) {
    parts.raw = AsBytes(value.symbols().text());
  } else {
    parts.raw = value.elements();
  }
}

}  // namespace

ValueParts PartsOf(const Value& value) {
  ValueParts parts;
  if (value.is_function()) {
    parts.raw = value.function_bytes();
    return parts;
  }
  AppendTo(parts, value.code());
  if (value.is_error() || value.is_atom_of(Type::kSymbol)) {
    parts.raw = AsBytes(value.text());
    parts.ends_with_nul = true;
  } else if (value.is_atom()) {
    parts.raw = value.elements();
  } else if (value.is_dict() || value.is_table()) {
    if (value.is_table()) {
      AppendTo(parts, static_cast<uint8_t>(value.attribute()));
      AppendTo(parts, static_cast<int8_t>(Type::kDict));
    }
    parts.children = 2;
  } else {
    TakeVector(value, parts);
  }
  return parts;
}

const Value& ChildOf(const Value& value, size_t i) {
  if (value.is_list()) return value.items()[i];
  return i == 0 ? value.keys() : value.values();
}

}  // namespace tickstack
