#include "query/language/namespaces.h"

#include <algorithm>
#include <set>
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

// Calls visit(name) for each full name that exists; q's words are `.q.max` and the like.
template <typename F>
void EachName(Context& context, F visit) {
  Environment& environment = context.environment;
  const SymbolVector words = BuiltinNames();
  for (size_t i = 0; i < words.size(); ++i) visit(".q." + std::string(words[i]));
  for (const Builtin& builtin : DottedBuiltins()) visit(std::string(builtin.name));
  for (const LibraryEntry& entry : Library()) {
    visit((entry.name[0] == '.' ? "" : ".q.") + std::string(entry.name));
  }
  for (const std::string& name : ProcessValueNames()) visit(name);
  for (const std::string& name : environment.TableNames()) visit(name);
  for (const std::string& name : environment.FunctionNames()) visit(name);
  for (const std::string& name : environment.ValueNames()) visit(name);
  context.variables.ForEachOfRequest([&](std::string_view name) { visit(std::string(name)); });
}

bool IsNamespaceName(std::string_view name) {
  return name.size() > 1 && name[0] == '.' && name.back() != '.';
}

}  // namespace

std::string NameWithin(std::string_view space, std::string_view name) {
  return space == kRoot ? std::string(name) : fmt::format("{}.{}", space, name);
}

std::vector<std::string> NamesIn(Context& context, std::string_view space) {
  std::set<std::string> names;
  const bool root = space == kRoot;
  if (!root && !IsNamespaceName(space)) return {};
  EachName(context, [&](const std::string& name) {
    if (root) {
      if (name.find('.') == std::string::npos) names.insert(name);
      return;
    }
    const bool within =
        name.size() > space.size() + 1 && name.starts_with(space) && name[space.size()] == '.';
    if (!within) return;
    const std::string rest = name.substr(space.size() + 1);
    names.insert(rest.substr(0, rest.find('.')));
  });
  return {names.begin(), names.end()};
}

std::vector<std::string> Namespaces(Context& context) {
  std::set<std::string> spaces;
  EachName(context, [&](const std::string& name) {
    // `.z` is not a namespace: key` does not list it in q either.
    if (name[0] != '.' || name.starts_with(".z.")) return;
    spaces.insert(name.substr(1, name.find('.', 1) - 1));
  });
  return {spaces.begin(), spaces.end()};
}

absl::StatusOr<std::optional<Term>> FindNamespace(Context& context, std::string_view space) {
  const std::vector<std::string> names = NamesIn(context, space);
  const bool root = space == kRoot;
  if (names.empty() && !root) return std::nullopt;
  const Budget::Level level(context.budget);  // A namespace may contain others.
  TS_RETURN_IF_ERROR(level.Check());
  SymbolVector keys;
  std::vector<Value> values;
  if (!root) {
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
  return Term(Value::Dict(Value::Symbols(std::move(keys)), Value::List(std::move(values))));
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
