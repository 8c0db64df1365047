#include "tickerplant/cluster/etcd_messages.h"

#include <charconv>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "base/status.h"
#include "security/password.h"
#include "serve/event_json.h"

namespace tickstack::tickerplant::etcd {
namespace {

constexpr size_t kQuotedBytesMax = 200;

std::string Base64(std::string_view text) { return absl::Base64Escape(AbslView(text)); }

// Returns the first value of `"name":`: the text of a string, or a literal; nullopt if there is
// none. etcd's answers have no escapes in the values that are looked for: numbers, booleans,
// base64, tokens and the texts of its errors.
std::optional<std::string_view> FieldOf(std::string_view json, std::string_view name) {
  const std::string pattern = fmt::format("\"{}\":", name);
  const size_t found = json.find(pattern);
  if (found == std::string_view::npos) return std::nullopt;
  json.remove_prefix(found + pattern.size());
  while (!json.empty() && json.front() == ' ') json.remove_prefix(1);
  const bool is_string = !json.empty() && json.front() == '"';
  if (is_string) json.remove_prefix(1);
  const size_t end = json.find_first_of(is_string ? "\"" : ",}] \n");
  if (end == std::string_view::npos) return std::nullopt;
  return json.substr(0, end);
}

std::optional<uint64_t> NumberOf(std::string_view json, std::string_view name) {
  const std::optional<std::string_view> text = FieldOf(json, name);
  uint64_t number = 0;
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return number;
}

absl::Status WrongAnswer(std::string_view answer) {
  return InvalidArgument("etcd: an answer of another form: {}", answer.substr(0, kQuotedBytesMax));
}

}  // namespace

std::string RangeRequest(std::string_view key) {
  return fmt::format(R"({{"key":"{}"}})", Base64(key));
}

std::string SwapRequest(std::string_view key, uint64_t revision, std::string_view value) {
  const std::string encoded = Base64(key);
  return fmt::format(
      R"({{"compare":[{{"result":"EQUAL","target":"MOD","key":"{0}","mod_revision":"{1}"}}],)"
      R"("success":[{{"request_put":{{"key":"{0}","value":"{2}"}}}}],)"
      R"("failure":[{{"request_range":{{"key":"{0}"}}}}]}})",
      encoded, revision, Base64(value));
}

std::string LoginRequest(std::string_view user, std::string_view password) {
  std::string quoted = serve::JsonText(password);
  std::string request =
      fmt::format(R"({{"name":{},"password":{}}})", serve::JsonText(user), quoted);
  security::Wipe(quoted);
  return request;
}

absl::StatusOr<ElectionStore::Record> ParseRange(std::string_view answer) {
  if (answer.find("\"header\"") == std::string_view::npos) return WrongAnswer(answer);
  const size_t kvs = answer.find("\"kvs\":");
  if (kvs == std::string_view::npos) return ElectionStore::Record{};  // There is no such key.
  const std::string_view pair = answer.substr(kvs);
  const std::optional<uint64_t> revision = NumberOf(pair, "mod_revision");
  const std::optional<std::string_view> value = FieldOf(pair, "value");
  ElectionStore::Record record;
  if (!revision || !value || !absl::Base64Unescape(AbslView(*value), &record.value)) {
    return WrongAnswer(answer);
  }
  record.revision = *revision;
  return record;
}

absl::StatusOr<ElectionStore::Written> ParseSwap(std::string_view answer, std::string_view value) {
  const std::optional<uint64_t> revision = NumberOf(answer, "revision");
  if (!revision || answer.find("\"responses\"") == std::string_view::npos)
    return WrongAnswer(answer);
  // A false value is left out.
  if (FieldOf(answer, "succeeded") == "true") {
    return ElectionStore::Written{true, {*revision, std::string(value)}};
  }
  TS_ASSIGN_OR_RETURN(ElectionStore::Record now, ParseRange(answer));
  return ElectionStore::Written{false, std::move(now)};
}

absl::StatusOr<std::string> ParseLogin(std::string_view answer) {
  const std::optional<std::string_view> token = FieldOf(answer, "token");
  if (!token || token->empty()) return InvalidArgument("a login's answer without a token");
  return std::string(*token);
}

std::string_view ErrorText(std::string_view answer) {
  // etcd 3.4 and 3.5 say it in `error`, too; 3.6 only here.
  return FieldOf(answer, "message").value_or(answer).substr(0, kQuotedBytesMax);
}

}  // namespace tickstack::tickerplant::etcd
