#include "query/language/namespaces.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/language/function.h"
#include "query/language/item_terms.h"
#include "query/language/library.h"
#include "query/language/process_values.h"
#include "query/language/variables.h"

namespace tickstack::query {
namespace {

constexpr std::string_view kRoot = ".";

// Returns the full names that every process has: those of q's own namespaces. q's words are
// `.q.max` and the like.
const std::vector<std::string>& OwnNames() {
  static const auto* const kNames = [] {
    auto* const names = new std::vector<std::string>;
    const SymbolVector words = BuiltinNames();
    for (size_t i = 0; i < words.size(); ++i) names->push_back(".q." + std::string(words[i]));
    for (const Builtin& builtin : DottedBuiltins()) names->emplace_back(builtin.name);
    for (const LibraryEntry& entry : Library()) {
      names->push_back((entry.name[0] == '.' ? "" : ".q.") + std::string(entry.name));
    }
    for (const std::string& name : ProcessValueNames()) names->push_back(name);
    return names;
  }();
  return *kNames;
}

// Calls visit(name) for each full name that exists. The name is valid during the call.
template <typename F>
void EachName(Context& context, F visit) {
  Environment& environment = context.environment;
  for (const std::string_view name : OwnNames()) visit(name);
  for (const std::string& name : environment.TableNames()) visit(std::string_view(name));
  for (const std::string& name : environment.FunctionNames()) visit(std::string_view(name));
  for (const std::string& name : environment.ValueNames()) visit(std::string_view(name));
  context.variables.ForEachOfRequest(visit);
}

bool IsNamespaceName(std::string_view name) {
  return name.size() > 1 && name[0] == '.' && name.back() != '.';
}

// Sorts names and drops those that are repeated.
std::vector<std::string> Unique(std::vector<std::string> names) {
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

// Returns a namespace, whose names are given, as a dictionary of their values.
absl::StatusOr<Value> DictionaryOf(Context& context, std::string_view space,
                                   const std::vector<std::string>& names) {
  SymbolVector keys;
  std::vector<Value> values;
  if (space != kRoot) {
    keys.push_back("");
    values.emplace_back();
  }
  Context outside = context.Outside();
  for (const std::string& name : names) {
    TS_ASSIGN_OR_RETURN(Term term,
                        FindName(outside, NameWithin(space == ".q" ? kRoot : space, name)));
    keys.push_back(name);
    TS_ASSIGN_OR_RETURN(values.emplace_back(), ToValue(std::move(term), context.budget));
  }
  return Value::Dict(Value::Symbols(std::move(keys)), Value::List(std::move(values)));
}

// Returns `.q`, which is the same in every process and cannot be changed. It is made once: editors
// compare each name's value with it, hundreds of times in a request.
absl::StatusOr<Value> Words(Context& context) {
  static std::atomic<const Value*> words = nullptr;
  const Value* made = words.load(std::memory_order_acquire);
  if (made != nullptr) return *made;
  TS_ASSIGN_OR_RETURN(Value dictionary, DictionaryOf(context, ".q", NamesIn(context, ".q")));
  auto own = std::make_unique<const Value>(std::move(dictionary));
  // Pairs with the load above. The first one to be made stays, as other threads may be copying it.
  if (words.compare_exchange_strong(made, own.get(), std::memory_order_acq_rel)) {
    return *own.release();
  }
  return *made;
}

}  // namespace

std::string NameWithin(std::string_view space, std::string_view name) {
  return space == kRoot ? std::string(name) : fmt::format("{}.{}", space, name);
}

std::vector<std::string> NamesIn(Context& context, std::string_view space) {
  std::vector<std::string> names;
  const bool root = space == kRoot;
  if (!root && !IsNamespaceName(space)) return {};
  EachName(context, [&](std::string_view name) {
    if (root) {
      if (name.find('.') == std::string_view::npos) names.emplace_back(name);
      return;
    }
    const bool within =
        name.size() > space.size() + 1 && name.starts_with(space) && name[space.size()] == '.';
    if (!within) return;
    name.remove_prefix(space.size() + 1);
    names.emplace_back(name.substr(0, name.find('.')));
  });
  return Unique(std::move(names));
}

std::vector<std::string> Namespaces(Context& context) {
  std::vector<std::string> spaces;
  EachName(context, [&](std::string_view name) {
    // `.z` is not a namespace: key` does not list it in q either.
    if (name[0] != '.' || name.starts_with(".z.")) return;
    name = name.substr(1, name.find('.', 1) - 1);
    if (spaces.empty() || spaces.back() != name) spaces.emplace_back(name);
  });
  return Unique(std::move(spaces));
}

absl::StatusOr<std::optional<Term>> FindNamespace(Context& context, std::string_view space) {
  if (space == ".q") {
    TS_ASSIGN_OR_RETURN(Value words, Words(context));
    return Term(std::move(words));
  }
  const std::vector<std::string> names = NamesIn(context, space);
  if (names.empty() && space != kRoot) return std::nullopt;
  const Budget::Level level(context.budget);  // A namespace may contain others.
  TS_RETURN_IF_ERROR(level.Check());
  TS_ASSIGN_OR_RETURN(Value dictionary, DictionaryOf(context, space, names));
  return Term(std::move(dictionary));
}

absl::StatusOr<std::optional<Term>> IndexNamespace(Context& context, std::string_view space,
                                                   std::span<const Term> args) {
  const auto* const index = args.size() == 1 ? std::get_if<Value>(&args[0]) : nullptr;
  if (index == nullptr || index->type() != Type::kSymbol) return std::nullopt;
  const std::vector<std::string> names = NamesIn(context, space);
  if (names.empty() && space != kRoot) return std::nullopt;
  Context outside = context.Outside();
  const auto find = [&](std::string_view name) -> absl::StatusOr<Term> {
    if (!std::ranges::binary_search(names, name)) {
      if (space == kRoot && !name.empty()) return FindName(outside, name);
      return Term(Value());
    }
    return FindName(outside, NameWithin(space == ".q" ? kRoot : space, name));
  };
  if (index->is_atom()) {
    TS_ASSIGN_OR_RETURN(Term found, find(index->symbol()));
    return found;
  }
  std::vector<Value> values;
  for (size_t i = 0; i < index->count(); ++i) {
    TS_ASSIGN_OR_RETURN(Term found, find(index->symbols()[i]));
    TS_ASSIGN_OR_RETURN(values.emplace_back(), ToValue(std::move(found), context.budget));
  }
  TS_ASSIGN_OR_RETURN(Term list, CollectItems(std::move(values), context.budget));
  return list;
}

}  // namespace tickstack::query
