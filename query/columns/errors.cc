#include "query/columns/errors.h"

#include <charconv>
#include <string>

#include "absl/strings/cord.h"

namespace tickstack::query {
namespace {

constexpr std::string_view kSignal = "tickstack/q-signal";
constexpr std::string_view kPosition = "tickstack/q-position";
constexpr size_t kMaxSignal = 128;  // Cuts a hostile text, which may be one long token.

}  // namespace

absl::Status QError(absl::StatusCode code, std::string_view signal, std::string_view detail) {
  signal = signal.substr(0, kMaxSignal);
  absl::Status status(code, AbslView(fmt::format("{}: {}", signal, detail)));
  status.SetPayload(AbslView(kSignal), absl::Cord(AbslView(signal)));
  return status;
}

absl::Status ParseError(std::string_view signal, size_t position, std::string_view detail) {
  return AtPosition(QError(absl::StatusCode::kInvalidArgument, signal,
                           fmt::format("at character {}: {}", position, detail)),
                    position);
}

absl::Status AtPosition(absl::Status status, size_t position) {
  if (status.ok() || PositionOf(status).has_value()) return status;
  status.SetPayload(AbslView(kPosition), absl::Cord(AbslView(std::to_string(position))));
  return status;
}

absl::Status WithoutPosition(absl::Status status) {
  status.ErasePayload(AbslView(kPosition));
  return status;
}

std::optional<size_t> PositionOf(const absl::Status& status) {
  const auto payload = status.GetPayload(AbslView(kPosition));
  if (!payload.has_value()) return std::nullopt;
  const std::string text(*payload);
  size_t position = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), position);
  return error == std::errc() ? std::optional(position) : std::nullopt;
}

absl::Status OrLimit(const absl::Status& of_file) {
  const bool is_of_process = of_file.code() == absl::StatusCode::kResourceExhausted &&
                             !of_file.GetPayload(AbslView(kSignal)).has_value();
  if (!is_of_process) return of_file;
  const std::optional<size_t> position = PositionOf(of_file);
  const absl::Status limit = LimitError("{}", Message(of_file));
  return position ? AtPosition(limit, *position) : limit;
}

absl::Status NyiError(std::string_view token) {
  return QError(absl::StatusCode::kUnimplemented, fmt::format("nyi: {}", token),
                "not in the subset of q that is answered here");
}

absl::Status NameError(std::string_view name) {
  if (name.empty()) return TypeError("the null symbol names nothing");
  return QError(absl::StatusCode::kNotFound, name, "no table, value or function has this name");
}

std::string QErrorText(const absl::Status& status) {
  if (const auto signal = status.GetPayload(AbslView(kSignal)); signal.has_value()) {
    return std::string(*signal);
  }
  return std::string(Message(status));
}

}  // namespace tickstack::query
