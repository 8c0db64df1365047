#pragma once

// A q value, as in messages and query results. It keeps exactly what the wire carries (type,
// attribute, raw little-endian elements, the bits of any NaN), so that decoding and encoding a
// message gives the same bytes.
//
// Values are for control messages, queries and results. Ticks never become Values: an upd is
// appended from spans over the receive buffer (table/batch.h).

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/byte_buffer.h"
#include "base/check.h"
#include "base/scratch.h"
#include "table/types.h"

namespace tickstack {

// A vector of names. All texts are in one string, NUL-terminated and back to back as on the wire; a
// second vector has their ends.
class SymbolVector {
 public:
  SymbolVector() = default;
  // Each of `ends` is the position after a name's NUL in `text`, which has no other NULs.
  SymbolVector(ScratchString text, ScratchVector<size_t> ends)
      : text_(std::move(text)), ends_(std::move(ends)) {}
  SymbolVector(std::initializer_list<std::string_view> names) {
    for (std::string_view name : names) push_back(name);
  }
  size_t size() const { return ends_.size(); }
  bool empty() const { return ends_.empty(); }
  std::string_view operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(text_).substr(begin, ends_[i] - begin - 1);
  }
  // Appends a name up to its first NUL, if it has one: on the wire, the rest would be another name.
  void push_back(std::string_view name) { AppendName(name.substr(0, name.find('\0'))); }
  // Appends a name that contains no NUL, such as one from a symbol table.
  void AppendName(std::string_view name) {
    text_.append(name);
    text_.push_back('\0');
    ends_.push_back(text_.size());
  }
  void reserve(size_t names, size_t text_bytes) {
    ends_.reserve(names);
    text_.reserve(text_bytes);
  }
  std::string_view text() const { return text_; }  // Returns all names as on the wire.
  friend bool operator==(const SymbolVector& a, const SymbolVector& b) {
    return a.text_ == b.text_;
  }

 private:
  ScratchString text_;
  ScratchVector<size_t> ends_;
};

class Value {
 public:
  // The generic null `::`, q's answer to "no result".
  Value();

  // Atoms.
  static Value Boolean(bool value) { return Atom(Type::kBoolean, uint8_t{value}); }
  static Value Byte(uint8_t value) { return Atom(Type::kByte, value); }
  static Value Short(int16_t value) { return Atom(Type::kShort, value); }
  static Value Int(int32_t value) { return Atom(Type::kInt, value); }
  static Value Long(int64_t value) { return Atom(Type::kLong, value); }
  static Value Real(float value) { return Atom(Type::kReal, value); }
  static Value Float(double value) { return Atom(Type::kFloat, value); }
  static Value Char(char value) { return Atom(Type::kChar, value); }
  static Value Timestamp(int64_t ns) { return Atom(Type::kTimestamp, ns); }
  static Value Timespan(int64_t ns) { return Atom(Type::kTimespan, ns); }
  static Value Date(int32_t days) { return Atom(Type::kDate, days); }
  static Value Symbol(std::string_view name);
  // `type` must have a fixed width, which T must have, too.
  template <typename T>
  static Value Atom(Type type, T value) {
    TS_CHECK(sizeof(T) == WidthOf(type));
    Scalar scalar{};
    std::memcpy(scalar.data(), &value, sizeof(T));
    return Value(static_cast<int8_t>(-static_cast<int8_t>(type)), Attribute::kNone, scalar);
  }
  static Value AtomFromBytes(Type type, std::span<const std::byte> element);

  // Vectors. `elements` has raw little-endian bytes; their number is a multiple of the type's
  // width.
  static Value Vector(Type type, ByteBuffer elements, Attribute attribute = Attribute::kNone);
  template <typename T>
  static Value Vector(Type type, std::span<const T> elements) {
    TS_CHECK(sizeof(T) == WidthOf(type));
    return Vector(type, ByteBuffer(std::as_bytes(elements)));
  }
  static Value Longs(std::initializer_list<int64_t> values) {
    return Vector(Type::kLong, std::span<const int64_t>(values.begin(), values.size()));
  }
  static Value String(std::string_view text) {
    return Vector(Type::kChar, ByteBuffer(AsBytes(text)));
  }
  static Value Symbols(SymbolVector names, Attribute attribute = Attribute::kNone);

  // Compound.
  static Value List(std::vector<Value> items, Attribute attribute = Attribute::kNone);
  static Value Dict(Value keys, Value values);
  // `columns` has one vector or list for each name; all have the same count.
  static Value Table(SymbolVector names, std::vector<Value> columns,
                     Attribute attribute = Attribute::kNone);
  // `keys` and `values` are tables (kTable) with the same number of rows.
  static Value KeyedTable(Value keys, Value values) {
    return Dict(std::move(keys), std::move(values));
  }
  // A dictionary or table (98, 99, 127) from its two parts on the wire, whose contents are not
  // checked.
  static Value Pair(Type type, Attribute attribute, Value keys, Value values);
  static Value Error(std::string_view text);
  // A function (100 to 112) as its bytes on the wire, type byte first, little-endian.
  static Value Function(ByteBuffer bytes);
  // `space` is the name of the function's namespace, without the leading dot.
  static Value Lambda(std::string_view source, std::string_view space = "");

  Value(const Value& other);
  Value& operator=(const Value& other);
  Value(Value&&) noexcept = default;
  Value& operator=(Value&&) noexcept = default;

  // The wire's type byte: negative for atoms, 0 general list, 98 table, 99 and 127 dict, -128
  // error.
  int8_t code() const { return code_; }
  Attribute attribute() const { return attribute_; }
  void set_attribute(Attribute attribute) { attribute_ = attribute; }

  bool is_atom() const { return code_ < 0 && code_ > -20; }
  bool is_vector() const { return code_ > 0 && code_ < 20; }
  bool is_list() const { return code_ == 0; }
  // True for vectors, which strings are, and for general lists.
  bool is_array() const { return is_vector() || is_list(); }
  bool is_table() const { return code_ == 98; }
  bool is_dict() const { return code_ == 99 || code_ == 127; }
  bool is_keyed_table() const { return is_dict() && keys().is_table() && values().is_table(); }
  bool is_error() const { return code_ == -128; }
  bool is_function() const { return code_ >= 100 && code_ < 127; }
  bool is_null() const;  // The generic null `::`.
  bool is_string() const { return code_ == 10; }
  bool is(Type type) const { return code_ == static_cast<int8_t>(type); }
  bool is_atom_of(Type type) const { return code_ == -static_cast<int>(type); }

  // The element type of an atom or vector; kList, kTable, kDict... for the rest.
  Type type() const { return static_cast<Type>(is_atom() ? -code_ : code_); }

  // Returns the number of elements of a vector or list, rows of a table, or entries of a dict; 1
  // for any other value.
  size_t count() const;

  // Typed access. The caller must have checked the type: a mismatch is a TS_CHECK.
  template <typename T>
  T as() const {
    TS_CHECK(is_atom() && sizeof(T) == WidthOf(type()));
    T value;
    std::memcpy(&value, std::get<Scalar>(data_).data(), sizeof(T));
    return value;
  }
  // Returns the elements of a fixed-width vector, or the one element of an atom.
  std::span<const std::byte> elements() const;
  template <typename T>
  std::span<const T> span() const {
    TS_CHECK(sizeof(T) == WidthOf(type()));
    const std::span<const std::byte> raw =
        elements();  // malloc'd or a Scalar: aligned to 8 and more.
    return {reinterpret_cast<const T*>(raw.data()), raw.size() / sizeof(T)};
  }
  std::string_view symbol() const;      // A symbol atom's name.
  std::string_view text() const;        // A string, a char atom, a symbol atom or an error's text.
  const SymbolVector& symbols() const;  // A symbol vector.
  const std::vector<Value>& items() const;  // A general list.
  std::vector<Value>& mutable_items();
  const Value& keys() const;  // For a dict.
  const Value& values() const;
  const SymbolVector& column_names() const;  // For a table.
  // Returns the columns of a table. Tables from a codec or from Table() have a list of columns,
  // whose lengths and kinds are not checked.
  const std::vector<Value>& columns() const;
  // For a table; nullptr if it has no such column.
  const Value* FindColumn(std::string_view name) const;
  std::span<const std::byte> function_bytes() const;

  friend bool operator==(const Value& a, const Value& b);

 private:
  using Scalar = std::array<std::byte, 16>;
  using Items = std::vector<Value>;  // A list's items, or a pair's keys and values.
  using Data = std::variant<Scalar, std::string, ByteBuffer, SymbolVector, Items>;

  Value(int8_t code, Attribute attribute, Data data)
      : code_(code), attribute_(attribute), data_(std::move(data)) {}

  int8_t code_;
  Attribute attribute_ = Attribute::kNone;
  Data data_;
};

}  // namespace tickstack
