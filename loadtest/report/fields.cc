#include "loadtest/report/fields.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/status.h"

namespace tickstack::loadtest::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kCountMax = 0x1p53;
constexpr size_t kShownMax = 60;
// The format nests nine objects deep. The library's parser would accept any depth.
constexpr int kDepthMax = 64;
// An ordered object searches all its keys for one.
constexpr size_t kKeysMax = 4096;

// Returns what was found, short enough for a message.
std::string Shown(const Json& found) {
  if (found.is_structured()) return found.is_array() ? "an array" : "an object";
  std::string text = found.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kShownMax) text = text.substr(0, kShownMax) + "...";
  return text;
}

bool IsCount(const Json& found) {
  if (found.is_number_unsigned()) return found.get<uint64_t>() <= INT64_MAX;
  if (!found.is_number()) return false;
  const double number = found.get<double>();
  return number >= 0 && number <= kCountMax && number == std::floor(number);
}

int64_t CountOf(const Json& found) {
  return found.is_number_unsigned() ? found.get<int64_t>()
                                    : static_cast<int64_t>(found.get<double>());
}

}  // namespace

const Json* Fields::Find(std::string_view key) const {
  if (object_ == nullptr) return nullptr;
  const auto found = object_->find(std::string(key));
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

void Fields::Fail(std::string_view key, std::string_view what) const {
  if (!document_->status_.ok()) return;
  document_->status_ =
      DataLoss("{}: {}{}{}: {}", document_->name_, place_, place_.empty() ? "" : ".", key, what);
}

void Fields::Mismatch(std::string_view key, const Json& found, std::string_view expected) const {
  Fail(key, fmt::format("found {}, expected {}", Shown(found), expected));
}

Fields Fields::Child(const Json& found, std::string place) const {
  return {document_, &found, place_.empty() ? std::move(place) : place_ + "." + place};
}

std::string Fields::Text(std::string_view key) const {
  if (Find(key) == nullptr) Fail(key, "found nothing, expected a text");
  return TextOrEmpty(key);
}

std::string Fields::TextOrEmpty(std::string_view key) const {
  const Json* const found = Find(key);
  if (found == nullptr) return "";
  if (found->is_string()) return found->get<std::string>();
  Mismatch(key, *found, "a text");
  return "";
}

double Fields::Number(std::string_view key, double min, double max) const {
  const std::optional<double> number = NumberOrNull(key);
  if (!number) {
    Fail(key, "found nothing, expected a number");
    return min;
  }
  if (*number < min || *number > max) {
    Fail(key, fmt::format("found {:g}, expected a number from {:g} to {:g}", *number, min, max));
    return min;
  }
  return *number;
}

bool Fields::Flag(std::string_view key) const {
  const Json* const found = Find(key);
  if (found == nullptr) return false;
  if (found->is_boolean()) return found->get<bool>();
  Mismatch(key, *found, "true or false");
  return false;
}

std::optional<double> Fields::NumberOrNull(std::string_view key) const {
  const Json* const found = Find(key);
  if (found == nullptr) return std::nullopt;
  if (found->is_number() && std::isfinite(found->get<double>())) return found->get<double>();
  Mismatch(key, *found, "a number or null");
  return std::nullopt;
}

std::optional<int64_t> Fields::CountOrNull(std::string_view key) const {
  const Json* const found = Find(key);
  if (found == nullptr) return std::nullopt;
  if (IsCount(*found)) return CountOf(*found);
  Mismatch(key, *found, "a count or null");
  return std::nullopt;
}

Fields Fields::ObjectOrEmpty(std::string_view key) const {
  const Json* const found = Find(key);
  if (found != nullptr && found->is_object()) return Child(*found, std::string(key));
  if (found != nullptr) Mismatch(key, *found, "an object or null");
  return {document_, nullptr, place_};
}

void Fields::EachObject(std::string_view key, const std::function<void(const Fields&)>& use) const {
  const Json* const found = Find(key);
  if (found == nullptr) return;
  if (!found->is_array()) return Mismatch(key, *found, "an array");
  for (size_t i = 0; i < found->size() && document_->status_.ok(); ++i) {
    const std::string place = fmt::format("{}[{}]", key, i);
    const Json& item = (*found)[i];
    if (!item.is_object()) return Mismatch(place, item, "an object");
    use(Child(item, place));
  }
}

void Fields::EachEntry(std::string_view key,
                       const std::function<void(const std::string&, const Fields&)>& use) const {
  const Json* const found = Find(key);
  if (found == nullptr) return;
  if (!found->is_object()) return Mismatch(key, *found, "an object");
  for (const auto& [name, item] : found->items()) {
    const std::string place = fmt::format("{}.{}", key, name);
    if (!item.is_object()) return Mismatch(place, item, "an object");
    use(name, Child(item, place));
  }
}

void Fields::EachText(
    std::string_view key,
    const std::function<void(const std::string&, const std::string&)>& use) const {
  const Json* const found = Find(key);
  if (found == nullptr) return;
  if (!found->is_object()) return Mismatch(key, *found, "an object");
  for (const auto& [name, item] : found->items()) {
    if (item.is_structured()) return Mismatch(fmt::format("{}.{}", key, name), item, "a text");
    use(name, item.is_string() ? item.get<std::string>() : Shown(item));
  }
}

void Fields::EachPair(std::string_view key, const std::function<bool(double, int64_t)>& use) const {
  const Json* const found = Find(key);
  if (found == nullptr) return;
  if (!found->is_array()) return Mismatch(key, *found, "an array");
  for (size_t i = 0; i < found->size(); ++i) {
    const Json& item = (*found)[i];
    const bool is_pair = item.is_array() && item.size() == 2 && item[0].is_number() &&
                         std::isfinite(item[0].get<double>()) && IsCount(item[1]);
    if (!is_pair || !use(item[0].get<double>(), CountOf(item[1]))) {
      return Mismatch(fmt::format("{}[{}]", key, i), item,
                      "an upper bound in ms, above the one before, with a count");
    }
  }
}

FieldsDocument::FieldsDocument(std::string name) : name_(std::move(name)) {}
FieldsDocument::~FieldsDocument() = default;

absl::Status FieldsDocument::Parse(std::string_view text) {
  bool too_deep = false, too_wide = false;
  std::vector<size_t> keys(kDepthMax + 2);  // Keys so far of the open object at each depth.
  const auto watch = [&](int depth, Json::parse_event_t event, Json&) {
    if (depth > kDepthMax) too_deep = true;
    if (too_deep) return false;
    if (event == Json::parse_event_t::object_start) keys[static_cast<size_t>(depth) + 1] = 0;
    const bool is_key = event == Json::parse_event_t::key;
    if (is_key && ++keys[static_cast<size_t>(depth)] > kKeysMax) too_wide = true;
    return !too_wide;
  };
  try {
    json_ = std::make_unique<Json>(Json::parse(text, watch));
  } catch (const Json::parse_error& error) {
    return DataLoss("{}: byte {}: this is not JSON, or it was cut short", name_, error.byte);
  }
  if (too_deep) return DataLoss("{}: nested more than {} deep", name_, kDepthMax);
  if (too_wide) return DataLoss("{}: an object has more than {} keys", name_, kKeysMax);
  if (!json_->is_object()) {
    return DataLoss("{}: found {}, expected an object", name_, Shown(*json_));
  }
  return absl::OkStatus();
}

Fields FieldsDocument::root() { return {this, json_.get(), ""}; }

}  // namespace tickstack::loadtest::report
