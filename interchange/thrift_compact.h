#pragma once

// Writes structures in Thrift's compact protocol, which Parquet uses for its headers. Source: the
// protocol's public description (thrift-compact-protocol) and the field numbers in parquet.thrift.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tickstack::interchange {

// Appends seven bits per byte, the lowest first; the highest bit of a byte means that more follow.
inline void AppendVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

// Appends a structure to a text. The caller writes its fields in ascending order of their numbers,
// and then calls End().
//
//   ThriftWriter out(text);
//   out.I32(1, 7);
//   out.Struct(2);  ...  out.End();
//   out.End();
class ThriftWriter {
 public:
  explicit ThriftWriter(std::string& out) : out_(out), last_(1, 0) {}

  void Bool(int field, bool value) { Field(field, value ? 1 : 2); }
  void Byte(int field, int8_t value) {
    Field(field, 3);
    out_ += static_cast<char>(value);
  }
  void I32(int field, int32_t value) {
    Field(field, 5);
    ZigZag(value);
  }
  void I64(int field, int64_t value) {
    Field(field, 6);
    ZigZag(value);
  }
  void Text(int field, std::string_view value) {
    Field(field, 8);
    TextItem(value);
  }
  // Begins a nested structure; until its End(), fields belong to it.
  void Struct(int field) {
    Field(field, 12);
    last_.push_back(0);
  }
  void Empty(int field) {  // Writes a structure without fields, by which a union selects a member.
    Struct(field);
    End();
  }
  void End() {
    out_ += '\0';
    last_.pop_back();
  }

  // Each begins a list, of which the caller then writes `count` items.
  void I32List(int field, size_t count) { List(field, 5, count); }
  void TextList(int field, size_t count) { List(field, 8, count); }
  void StructList(int field, size_t count) { List(field, 12, count); }
  void I32Item(int32_t value) { ZigZag(value); }
  void TextItem(std::string_view value) {
    Varint(value.size());
    out_ += value;
  }
  void StructItem() { last_.push_back(0); }  // Begins an item, which lasts until its End().

 private:
  void Field(int field, int type) {
    const int step = field - last_.back();
    last_.back() = field;
    if (step >= 1 && step <= 15) {
      out_ += static_cast<char>(step << 4 | type);
      return;
    }
    out_ += static_cast<char>(type);
    ZigZag(field);
  }
  void List(int field, int type, size_t count) {
    Field(field, 9);
    if (count < 15) {
      out_ += static_cast<char>(static_cast<int>(count) << 4 | type);
      return;
    }
    out_ += static_cast<char>(0xf0 | type);
    Varint(count);
  }
  void ZigZag(int64_t value) {
    Varint(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
  }
  void Varint(uint64_t value) { AppendVarint(out_, value); }

  std::string& out_;
  std::vector<int> last_;  // For each open structure, the number of its last field.
};

}  // namespace tickstack::interchange
