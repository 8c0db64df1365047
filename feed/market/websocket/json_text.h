#pragma once

// A JSON text as a tree of values, parsed and checked as a whole by simdjson. A number keeps the
// characters that it was sent with: exchanges compute checksums from them, and some numbers have
// more digits than a float.
//
//   {"s": "XBTUSD", "b": [[1.50, 7]]}
//
//   JsonValue root;   root["s"].text() == "XBTUSD";   root["b"].At(0).At(0).text() == "1.50"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tickstack::feed::market {

enum class JsonKind : uint8_t { kMissing, kNull, kTruth, kNumber, kString, kArray, kObject };

struct JsonNode {
  std::string_view key;   // Key of a member of an object, unescaped.
  std::string_view text;  // A string, unescaped; the characters of a number or truth value.
  uint32_t end = 0;       // Position behind its last descendant, so that of its next sibling.
  uint32_t children = 0;
  JsonKind kind = JsonKind::kMissing;
};

// A value of a JsonText, valid until that parses another text. Cheap to copy.
class JsonValue {
 public:
  JsonValue() = default;  // A missing value.

  JsonKind kind() const { return node_ == nullptr ? JsonKind::kMissing : node_->kind; }
  bool exists() const { return node_ != nullptr; }
  bool is_array() const { return kind() == JsonKind::kArray; }
  bool is_object() const { return kind() == JsonKind::kObject; }
  bool is_string() const { return kind() == JsonKind::kString; }
  std::string_view text() const { return node_ == nullptr ? std::string_view() : node_->text; }
  // What it is called within its parent: a member's key. Of a missing one, the key that was asked.
  std::string_view key() const { return key_; }

  // Return a child, or a missing value. Cost: O(children before it).
  JsonValue operator[](std::string_view key) const;
  JsonValue At(size_t index) const;

  // Iterates over the children.
  size_t size() const { return node_ == nullptr ? 0 : node_->children; }
  class Iterator {
   public:
    Iterator(const JsonNode* nodes, uint32_t position) : nodes_(nodes), position_(position) {}
    JsonValue operator*() const { return {nodes_, nodes_ + position_}; }
    Iterator& operator++() {
      position_ = nodes_[position_].end;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const JsonNode* nodes_;
    uint32_t position_;
  };
  Iterator begin() const { return {nodes_, node_ == nullptr ? 0 : Position() + 1}; }
  Iterator end() const { return {nodes_, node_ == nullptr ? 0 : node_->end}; }

 private:
  friend class JsonText;
  explicit JsonValue(std::string_view missing_key) : key_(missing_key) {}
  JsonValue(const JsonNode* nodes, const JsonNode* node)
      : nodes_(nodes), node_(node), key_(node->key) {}
  uint32_t Position() const { return static_cast<uint32_t>(node_ - nodes_); }

  const JsonNode* nodes_ = nullptr;  // All of its text.
  const JsonNode* node_ = nullptr;
  std::string_view key_;
};

// Threads: one owner. Memory: some 7 times the longest text, and 48 bytes for each value.
class JsonText {
 public:
  static constexpr size_t kDepthMax = 16;
  static constexpr size_t kValuesMax = size_t{1} << 22;

  JsonText();
  ~JsonText();
  JsonText(const JsonText&) = delete;
  JsonText& operator=(const JsonText&) = delete;

  // Parses a text, which must be one object or array. Returns why it is none, or an empty text.
  std::string Parse(std::string_view text);
  // Returns what was parsed; missing if it was no JSON.
  JsonValue root() const;

 private:
  struct Parser;  // Keeps simdjson's header, which takes seconds to compile, out of other files.

  std::unique_ptr<Parser> parser_;
  std::string padded_;  // The text, and the bytes behind it that simdjson may read.
  std::vector<JsonNode> nodes_;
};

}  // namespace tickstack::feed::market
