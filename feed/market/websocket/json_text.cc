#include "feed/market/websocket/json_text.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>

namespace tickstack::feed::market {
namespace {

namespace ondemand = simdjson::ondemand;

bool IsJsonDigit(char c) { return c >= '0' && c <= '9'; }

// Removes digits from the beginning of a text, and returns whether there were any.
bool SkipDigits(std::string_view& text) {
  const auto* const end = std::ranges::find_if_not(text, IsJsonDigit);
  const auto digits = static_cast<size_t>(end - text.begin());
  text.remove_prefix(digits);
  return digits > 0;
}

// The grammar of RFC 8259: simdjson checks a number only when it converts it.
bool IsJsonNumber(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const bool zero = text.starts_with('0');
  if (zero) text.remove_prefix(1);
  if (!zero && !SkipDigits(text)) return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (!SkipDigits(text)) return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (!SkipDigits(text)) return false;
  }
  return text.empty();
}

std::string_view WithoutBlanks(std::string_view token) {
  return token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
}

// Visits all values of a document, which checks each of them.
class JsonWalk {
 public:
  explicit JsonWalk(std::vector<JsonNode>& nodes) : nodes_(nodes) {}

  // Adds a value and its descendants; false if it does not fit.
  bool Add(ondemand::value& value, std::string_view key, size_t depth) {
    if (depth > JsonText::kDepthMax) return Fail("it is nested too deep");
    if (nodes_.size() == JsonText::kValuesMax) return Fail("it has too many values");
    const size_t at = nodes_.size();
    nodes_.emplace_back().key = key;
    ondemand::json_type type{};
    if (!Take(value.type().get(type))) return false;
    const bool fits = type == ondemand::json_type::object  ? AddMembers(value, at, depth)
                      : type == ondemand::json_type::array ? AddElements(value, at, depth)
                                                           : AddScalar(value, type, at);
    nodes_[at].end = static_cast<uint32_t>(nodes_.size());
    return fits;
  }

  // Why Add failed.
  std::string why;

 private:
  bool Fail(std::string_view text) {
    why = text;
    return false;
  }
  bool Take(simdjson::error_code error) {
    if (error == simdjson::SUCCESS) return true;
    why = fmt::format("it is no JSON: {}", simdjson::error_message(error));
    return false;
  }

  bool AddMembers(ondemand::value& value, size_t at, size_t depth) {
    nodes_[at].kind = JsonKind::kObject;
    ondemand::object object;
    if (!Take(value.get_object().get(object))) return false;
    for (auto result : object) {
      if (!Take(result.error())) return false;
      ondemand::field&& field = std::move(result).value_unsafe();
      std::string_view key;
      if (!Take(field.unescaped_key().get(key))) return false;
      ++nodes_[at].children;
      if (!Add(field.value(), key, depth + 1)) return false;
    }
    return true;
  }

  bool AddElements(ondemand::value& value, size_t at, size_t depth) {
    nodes_[at].kind = JsonKind::kArray;
    ondemand::array array;
    if (!Take(value.get_array().get(array))) return false;
    for (auto result : array) {
      if (!Take(result.error())) return false;
      // Only an rvalue gives a value that may change.
      // NOLINTNEXTLINE(performance-move-const-arg)
      ondemand::value&& element = std::move(result).value_unsafe();
      ++nodes_[at].children;
      if (!Add(element, {}, depth + 1)) return false;
    }
    return true;
  }

  bool AddScalar(ondemand::value& value, ondemand::json_type type, size_t at) {
    JsonNode& node = nodes_[at];
    if (type == ondemand::json_type::string) {
      node.kind = JsonKind::kString;
      return Take(value.get_string().get(node.text));
    }
    if (type == ondemand::json_type::number) {
      node.kind = JsonKind::kNumber;
      node.text = WithoutBlanks(value.raw_json_token());
      return IsJsonNumber(node.text) || Take(simdjson::NUMBER_ERROR);
    }
    if (type == ondemand::json_type::boolean) {
      node.kind = JsonKind::kTruth;
      bool truth = false;
      if (!Take(value.get_bool().get(truth))) return false;
      node.text = truth ? "true" : "false";
      return true;
    }
    node.kind = JsonKind::kNull;
    bool is_null = false;
    if (!Take(value.is_null().get(is_null))) return false;
    return is_null || Take(simdjson::N_ATOM_ERROR);
  }

  std::vector<JsonNode>& nodes_;
};

}  // namespace

struct JsonText::Parser {
  ondemand::parser parser;
};

JsonText::JsonText() : parser_(std::make_unique<Parser>()) {}
JsonText::~JsonText() = default;

std::string JsonText::Parse(std::string_view text) {
  nodes_.clear();
  padded_.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  padded_ = text;
  const auto fail = [this](std::string why) {
    nodes_.clear();
    return why;
  };
  ondemand::document document;
  simdjson::error_code error =
      parser_->parser.iterate(padded_.data(), padded_.size(), padded_.capacity()).get(document);
  ondemand::value value;
  if (error == simdjson::SUCCESS) error = document.get_value().get(value);
  if (error == simdjson::SCALAR_DOCUMENT_AS_VALUE) return "it is neither an object nor an array";
  if (error != simdjson::SUCCESS) {
    return fmt::format("it is no JSON: {}", simdjson::error_message(error));
  }
  JsonWalk walk(nodes_);
  if (!walk.Add(value, {}, 1)) return fail(std::move(walk.why));
  if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
    return fail("it has more behind its end");
  }
  return {};
}

JsonValue JsonText::root() const {
  return nodes_.empty() ? JsonValue() : JsonValue(nodes_.data(), nodes_.data());
}

JsonValue JsonValue::operator[](std::string_view key) const {
  if (!is_object()) return JsonValue(key);
  for (const JsonValue child : *this) {
    const std::string_view found = child.key();
    // Most keys differ in their length or first letter: a call takes longer than both looks.
    if (found.size() != key.size() || (!key.empty() && found[0] != key[0])) continue;
    if (found == key) return child;
  }
  return JsonValue(key);
}

JsonValue JsonValue::At(size_t index) const {
  if (!is_array() || index >= size()) return JsonValue(key_);
  Iterator child = begin();
  for (size_t i = 0; i < index; ++i) ++child;
  return *child;
}

}  // namespace tickstack::feed::market
