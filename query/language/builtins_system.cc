// Functions about the system: commands, variables by name, types, attributes, views.

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "query/language/builtins.h"
#include "query/language/process_values.h"
#include "query/language/variables.h"

namespace tickstack::query::builtins {
namespace {

Result System(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value command, Take(context, args[0]));
  if (command.type() != Type::kChar) return TypeError("system of a {}", NameOf(command.type()));
  return RunSystemCommand(context, command.text());
}

// `name set x: sets a variable of the request, even if a lambda has a local of that name.
Result Set(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(Term value, Shared(std::move(args[1]), context.budget));
  TS_ASSIGN_OR_RETURN(Value name, Take(context, args[0]));
  if (!name.is_atom_of(Type::kSymbol)) return TypeError("set of a {}", NameOf(name.type()));
  if (IsFileName(name)) return NyiError("set");
  if (name.symbol().empty()) return TypeError("set of no name");
  Variables request(context.variables.request());
  Context outside{context.environment, context.budget, request};
  TS_RETURN_IF_ERROR(AssignName(outside, name.symbol(), std::move(value)));
  return name;
}

template <Clocks clocks>
absl::StatusOr<Value> ByOtherClock(const Value& times, Budget& budget) {
  return OtherClock(times, clocks, budget);
}

// Shows nothing, because there is no console.
Result ShowTerm(Context&, Args) { return Value(); }

Result Views(Context& context, Args) {
  SymbolVector names;
  for (const std::string& name : context.variables.request().Views()) names.push_back(name);
  return Value::Symbols(std::move(names));
}

Result View(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value name, Take(context, args[0]));
  if (!name.is_atom_of(Type::kSymbol)) return TypeError("view of a {}", NameOf(name.type()));
  const std::shared_ptr<const Lambda> expression = context.variables.ViewOfName(name.symbol());
  if (expression == nullptr) return NameError(name.symbol());
  constexpr size_t kBefore = 3, kAround = 4;  // {[]x}
  const std::string_view source = expression->source;
  return Value::String(source.substr(kBefore, source.size() - kAround));
}

Result AttributeOf(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value value, Take(context, args[0]));
  return Value::Symbol(LetterOfAttribute(value.attribute()));
}

Result TypeOf(Context& context, Args args) {
  const auto answer = [](int code) -> Result { return Value::Short(static_cast<int16_t>(code)); };
  if (const auto* slice = std::get_if<Slice>(&args[0])) {
    return answer(static_cast<int>(slice->type()));
  }
  if (const auto* view = std::get_if<TableView>(&args[0]))
    return answer(view->key_columns > 0 ? 99 : 98);
  if (const auto* value = std::get_if<Value>(&args[0])) {
    return answer(value->is_dict() ? static_cast<int>(Type::kDict) : value->code());
  }
  TS_ASSIGN_OR_RETURN(const Value function, Take(context, args[0]));
  return answer(function.code());
}

constexpr std::array kSystemTable = {
    With(Builtin::kInterprets, Builtin{"system", 1, 1, false, System}),
    With(Builtin::kInterprets, Builtin{"set", 2, 2, true, Set, true}),
    Builtin{"show", 1, 1, false, ShowTerm},
    With(Builtin::kIgnoresRows, Builtin{"type", 1, 1, false, TypeOf}),
    Builtin{"attr", 1, 1, false, AttributeOf},
    Builtin{"views", 1, 1, false, Views},
    Builtin{"view", 1, 1, false, View},
    Builtin{"gtime", 1, 1, false, Unary<ByOtherClock<Clocks::kUtcOfLocal>>},
    Builtin{"ltime", 1, 1, false, Unary<ByOtherClock<Clocks::kLocalOfUtc>>},
};

}  // namespace

std::span<const Builtin> SystemFunctions() { return kSystemTable; }

}  // namespace tickstack::query::builtins
