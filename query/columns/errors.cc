#include "query/columns/errors.h"

#include "absl/strings/cord.h"

namespace tickstack::query {
namespace {

constexpr std::string_view kSignal = "tickstack/q-signal";
constexpr size_t kMaxSignal = 128;  // Cuts a hostile text, which may be one long token.

}  // namespace

absl::Status QError(absl::StatusCode code, std::string_view signal, std::string_view detail) {
  signal = signal.substr(0, kMaxSignal);
  absl::Status status(code, AbslView(fmt::format("{}: {}", signal, detail)));
  status.SetPayload(AbslView(kSignal), absl::Cord(AbslView(signal)));
  return status;
}

absl::Status ParseError(std::string_view signal, size_t position, std::string_view detail) {
  return QError(absl::StatusCode::kInvalidArgument, signal,
                fmt::format("at character {}: {}", position, detail));
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
