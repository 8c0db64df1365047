#include "table/function_text.h"

#include <span>
#include <vector>

#include "table/codec.h"

namespace tickstack {
namespace {

constexpr int8_t kUnaryCode = 101, kOperatorCode = 102, kIteratorCode = 103, kProjectionCode = 104,
                 kCompositionCode = 105, kFirstDerivedCode = 106;
constexpr int kMaxTextDepth = 100;

std::string TextAt(const Value& function, int depth);

// Returns the values after a function's head; empty if the bytes are not values.
std::vector<Value> PartsOf(std::span<const std::byte> rest, size_t count) {
  std::vector<Value> parts;
  for (size_t i = 0; i < count; ++i) {
    size_t used = 0;
    absl::StatusOr<Value> part = DecodePrefix(rest, &used);
    if (!part.ok()) return {};
    parts.push_back(*std::move(part));
    rest = rest.subspan(used);
  }
  return parts;
}

template <size_t n>
std::string NameAt(const std::array<std::string_view, n>& names, std::byte number) {
  const auto at = static_cast<size_t>(number);
  return at < n ? std::string(names[at]) : "";
}

bool IsMissing(const Value& value) {
  return value.code() == kUnaryCode && value.function_bytes()[1] == std::byte{0xff};
}

std::string PartText(const Value& value, int depth) {
  return value.is_function() ? TextAt(value, depth + 1) : std::string("..");
}

std::string TextAt(const Value& function, int depth) {
  if (function.is_null()) return "::";
  if (depth > kMaxTextDepth) return "..";
  const std::span<const std::byte> bytes = function.function_bytes();
  const int8_t code = function.code();
  if (function.is(Type::kLambda)) return std::string(SourceOf(function));
  if (code == kUnaryCode) return NameAt(kUnaryPrimitives, bytes[1]);
  if (code == kOperatorCode) return NameAt(kOperatorPrimitives, bytes[1]);
  if (code == kIteratorCode) return NameAt(kIteratorPrimitives, bytes[1]);
  const bool counted = code == kProjectionCode || code == kCompositionCode;
  const size_t count = counted ? LoadLittle<uint32_t>(bytes.data() + 1) : 1;
  const std::vector<Value> parts = PartsOf(bytes.subspan(counted ? 5 : 1), count);
  if (parts.empty()) return "";
  if (!counted) {
    const auto iterator = static_cast<size_t>(code - kFirstDerivedCode);
    if (iterator >= kIteratorPrimitives.size()) return "";
    return PartText(parts[0], depth) + std::string(kIteratorPrimitives[iterator]);
  }
  std::string text = code == kProjectionCode ? PartText(parts[0], depth) + "[" : "'[";
  for (size_t i = code == kProjectionCode ? 1 : 0; i < parts.size(); ++i) {
    if (text.back() != '[' || i > 1) text += ';';
    if (!IsMissing(parts[i])) text += PartText(parts[i], depth);
  }
  return text + "]";
}

}  // namespace

std::string_view SourceOf(const Value& lambda) {
  const std::string_view bytes = AsText(lambda.function_bytes());
  // Has a type byte, the namespace's name with its NUL, and a char vector: type, attribute, count,
  // characters.
  const size_t name_end = bytes.find('\0', 1);
  constexpr size_t kVectorHead = 6;
  if (name_end == std::string_view::npos || bytes.size() < name_end + 1 + kVectorHead) return "";
  return bytes.substr(name_end + 1 + kVectorHead);
}

std::string_view SpaceNameOf(const Value& lambda) {
  const std::string_view bytes = AsText(lambda.function_bytes()).substr(1);
  return bytes.substr(0, bytes.find('\0'));
}

std::string FunctionText(const Value& function) { return TextAt(function, 0); }

}  // namespace tickstack
