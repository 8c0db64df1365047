#include "query/language/client_handle.h"

#include <algorithm>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/language/functions.h"
#include "query/language/indexing.h"
#include "query/language/variables.h"

namespace tickstack::query {
namespace {

// Charges a value until the end of the request.
absl::Status HoldValue(const Value& value, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const Budget::Amount bytes, CheckedBytes(value));
  return budget.Hold(bytes);
}

}  // namespace

absl::Status ClientHandle::Send(Value message, Budget& budget) {
  if (messages_.size() >= kMaxMessages) {
    return LimitError("more than {} messages to .z.w", kMaxMessages);
  }
  TS_RETURN_IF_ERROR(budget.Hold({kMessageBytes, kMessageBytes}));
  TS_RETURN_IF_ERROR(HoldValue(message, budget));
  messages_.push_back(std::move(message));
  return absl::OkStatus();
}

absl::Status ClientHandle::Defer() {
  if (!awaits_answer_) return DomainError("-30! of a request that awaits no answer");
  deferred_ = true;
  return absl::OkStatus();
}

absl::Status ClientHandle::Answer(int32_t handle, bool is_error, Value value, Budget& budget) {
  if (!deferred_ || handle != facts_.handle || answer_.has_value()) {
    return DomainError("-30!: handle {} awaits no deferred answer", handle);
  }
  if (!is_error) {
    TS_RETURN_IF_ERROR(HoldValue(value, budget));
    answer_.emplace(std::move(value));
    return absl::OkStatus();
  }
  const bool symbol = value.is_atom_of(Type::kSymbol);
  if (!symbol && value.type() != Type::kChar) {
    return TypeError("-30!: an error that is a {}, not a text", NameOf(value.type()));
  }
  const std::string text(symbol ? value.symbol() : value.text());
  answer_.emplace(QError(absl::StatusCode::kInvalidArgument, text, "given to -30!"));
  return absl::OkStatus();
}

absl::StatusOr<Value> ClientHandle::Settle(absl::StatusOr<Value> result) {
  if (answer_.has_value()) return *std::exchange(answer_, std::nullopt);
  if (!deferred_ || !result.ok()) return result;
  return QError(absl::StatusCode::kInvalidArgument, "deferred",
                "the request ended without -30!(.z.w;isError;value)");
}

bool IsHandle(const Context& context, const Term& term) {
  const auto* const value = std::get_if<Value>(&term);
  if (value == nullptr || !value->is_atom_of(Type::kInt)) return false;
  const ClientHandle* const client = context.variables.request().client();
  if (client == nullptr || client->facts().handle == 0) return false;
  const auto handle = value->as<int32_t>();
  return handle == client->facts().handle || handle == -client->facts().handle;
}

absl::StatusOr<Term> ApplyHandle(Context& context, const Term& handle, std::span<Term> args) {
  if (args.size() > 1) return RankError("{} arguments for a handle, which takes 1", args.size());
  if (std::get<Value>(handle).as<int32_t>() > 0) return NyiError(".z.w");
  if (args.empty()) return Term(Value());
  TS_ASSIGN_OR_RETURN(Value message, ToValue(std::move(args[0]), context.budget));
  if (message.is_null() && message.is_function()) return Term(Value());
  TS_RETURN_IF_ERROR(
      context.variables.request().client()->Send(std::move(message), context.budget));
  return Term(Value());
}

bool IsConsole(const Term& term) {
  const auto* const value = std::get_if<Value>(&term);
  const bool handle =
      value != nullptr && (value->is_atom_of(Type::kLong) || value->is_atom_of(Type::kInt));
  if (!handle) return false;
  const std::optional<int64_t> number = IndexOf(*value);
  return number.has_value() && *number >= -2 && *number <= 2;
}

absl::StatusOr<Term> ApplyConsole(Context& context, const Term& handle, std::span<Term> args) {
  if (args.size() != 1) return RankError("{} arguments for a handle, which takes 1", args.size());
  const int64_t number = *IndexOf(std::get<Value>(handle));
  if (number == 0) return Apply(context, *FindBuiltin("value"), args);
  TS_ASSIGN_OR_RETURN(const Value text, ToValue(std::move(args[0]), context.budget));
  const auto is_line = [](const Value& line) { return line.is_string(); };
  const bool lines = number < 0 && text.is_list() && std::ranges::all_of(text.items(), is_line);
  if (text.type() == Type::kChar || lines) return handle;
  return TypeError("{} of a {}, not of text", number, NameOf(text.type()));
}

}  // namespace tickstack::query
