#include "table/value.h"

namespace tickstack {

Value::Value() : code_(static_cast<int8_t>(Type::kUnary)), data_(ByteBuffer()) {
  ByteBuffer bytes;
  bytes.AppendLittle(uint8_t{static_cast<uint8_t>(Type::kUnary)});
  bytes.AppendLittle(uint8_t{0});
  data_ = std::move(bytes);
}

Value::Value(const Value& other) : code_(other.code_), attribute_(other.attribute_) {
  if (const auto* bytes = std::get_if<ByteBuffer>(&other.data_)) {
    data_ = bytes->Clone();
  } else if (const auto* scalar = std::get_if<Scalar>(&other.data_)) {
    data_ = *scalar;
  } else if (const auto* text = std::get_if<std::string>(&other.data_)) {
    data_ = *text;
  } else if (const auto* names = std::get_if<SymbolVector>(&other.data_)) {
    data_ = *names;
  } else {
    data_ = std::get<Items>(other.data_);
  }
}

Value& Value::operator=(const Value& other) {
  if (this != &other) *this = Value(other);
  return *this;
}

Value Value::Symbol(std::string_view name) {
  return Value(-static_cast<int8_t>(Type::kSymbol), Attribute::kNone,
               std::string(name.substr(0, name.find('\0'))));
}

Value Value::AtomFromBytes(Type type, std::span<const std::byte> element) {
  TS_CHECK(IsFixedWidth(type) && element.size() == WidthOf(type));
  Scalar scalar{};
  std::memcpy(scalar.data(), element.data(), element.size());
  return Value(static_cast<int8_t>(-static_cast<int8_t>(type)), Attribute::kNone, scalar);
}

Value Value::Vector(Type type, ByteBuffer elements, Attribute attribute) {
  TS_CHECK(IsFixedWidth(type) && elements.size() % WidthOf(type) == 0);
  return Value(static_cast<int8_t>(type), attribute, std::move(elements));
}

Value Value::Symbols(SymbolVector names, Attribute attribute) {
  return Value(static_cast<int8_t>(Type::kSymbol), attribute, std::move(names));
}

Value Value::List(std::vector<Value> items, Attribute attribute) {
  return Value(static_cast<int8_t>(Type::kList), attribute, std::move(items));
}

Value Value::Pair(Type type, Attribute attribute, Value keys, Value values) {
  Items pair;
  pair.reserve(2);
  pair.push_back(std::move(keys));
  pair.push_back(std::move(values));
  return Value(static_cast<int8_t>(type), attribute, std::move(pair));
}

Value Value::Dict(Value keys, Value values) {
  TS_CHECK(keys.count() == values.count());
  return Pair(Type::kDict, Attribute::kNone, std::move(keys), std::move(values));
}

Value Value::Table(SymbolVector names, std::vector<Value> columns, Attribute attribute) {
  TS_CHECK(names.size() == columns.size());
  for (const Value& column : columns) TS_CHECK(column.count() == columns.front().count());
  return Pair(Type::kTable, attribute, Symbols(std::move(names)), List(std::move(columns)));
}

Value Value::Error(std::string_view text) {
  return Value(static_cast<int8_t>(Type::kError), Attribute::kNone,
               std::string(text.substr(0, text.find('\0'))));
}

Value Value::Function(ByteBuffer bytes) {
  TS_CHECK(bytes.size() >= 2);
  const auto code = static_cast<int8_t>(bytes.data()[0]);
  TS_CHECK(code >= 100 && code < 127);
  return Value(code, Attribute::kNone, std::move(bytes));
}

Value Value::Lambda(std::string_view source, std::string_view space) {
  ByteBuffer bytes;
  bytes.AppendLittle(static_cast<uint8_t>(Type::kLambda));
  bytes.Append(space);
  bytes.AppendLittle(uint8_t{0});
  bytes.AppendLittle(static_cast<uint8_t>(Type::kChar));
  bytes.AppendLittle(uint8_t{0});
  bytes.AppendLittle(static_cast<int32_t>(source.size()));
  bytes.Append(source);
  return Function(std::move(bytes));
}

bool Value::is_null() const {
  if (code_ != static_cast<int8_t>(Type::kUnary)) return false;
  return std::get<ByteBuffer>(data_).data()[1] == std::byte{0};
}

size_t Value::count() const {
  if (is_atom()) return 1;
  if (is_vector()) {
    if (const auto* names = std::get_if<SymbolVector>(&data_)) return names->size();
    return std::get<ByteBuffer>(data_).size() / WidthOf(type());
  }
  if (is_list()) return std::get<Items>(data_).size();
  if (is_dict()) return keys().count();
  if (is_table()) {
    const std::vector<Value>& all = columns();
    return all.empty() ? 0 : all.front().count();
  }
  return 1;
}

std::span<const std::byte> Value::elements() const {
  if (is_atom()) {
    return std::span<const std::byte>(std::get<Scalar>(data_)).first(WidthOf(type()));
  }
  TS_CHECK(is_vector());
  return std::get<ByteBuffer>(data_).span();
}

std::string_view Value::symbol() const {
  TS_CHECK(is_atom_of(Type::kSymbol));
  return std::get<std::string>(data_);
}

std::string_view Value::text() const {
  if (const auto* text = std::get_if<std::string>(&data_)) return *text;
  TS_CHECK(type() == Type::kChar);
  return AsText(elements());
}

const SymbolVector& Value::symbols() const {
  TS_CHECK(is(Type::kSymbol));
  return std::get<SymbolVector>(data_);
}

const std::vector<Value>& Value::items() const {
  TS_CHECK(is_list());
  return std::get<Items>(data_);
}

std::vector<Value>& Value::mutable_items() {
  TS_CHECK(is_list());
  return std::get<Items>(data_);
}

const Value& Value::keys() const {
  TS_CHECK(is_dict() || is_table());
  return std::get<Items>(data_)[0];
}

const Value& Value::values() const {
  TS_CHECK(is_dict() || is_table());
  return std::get<Items>(data_)[1];
}

const SymbolVector& Value::column_names() const {
  TS_CHECK(is_table());
  return keys().symbols();
}

const std::vector<Value>& Value::columns() const {
  TS_CHECK(is_table());
  return values().items();
}

const Value* Value::FindColumn(std::string_view name) const {
  const SymbolVector& names = column_names();
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return &columns()[i];
  }
  return nullptr;
}

std::span<const std::byte> Value::function_bytes() const {
  TS_CHECK(is_function());
  return std::get<ByteBuffer>(data_).span();
}

bool operator==(const Value& a, const Value& b) {
  if (a.code_ != b.code_ || a.attribute_ != b.attribute_) return false;
  if (a.data_.index() != b.data_.index()) return false;
  if (const auto* bytes = std::get_if<ByteBuffer>(&a.data_)) {
    const auto& other = std::get<ByteBuffer>(b.data_);
    return bytes->size() == other.size() &&
           (bytes->empty() || std::memcmp(bytes->data(), other.data(), bytes->size()) == 0);
  }
  if (const auto* scalar = std::get_if<Value::Scalar>(&a.data_)) {
    return *scalar == std::get<Value::Scalar>(b.data_);
  }
  if (const auto* text = std::get_if<std::string>(&a.data_))
    return *text == std::get<std::string>(b.data_);
  if (const auto* names = std::get_if<SymbolVector>(&a.data_))
    return *names == std::get<SymbolVector>(b.data_);
  return std::get<Value::Items>(a.data_) == std::get<Value::Items>(b.data_);
}

}  // namespace tickstack
