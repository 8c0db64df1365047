#pragma once

// Names with dots: lists the names in a namespace, and returns a namespace as a dictionary.
//
// The root namespace has the name `.`, and the names of other namespaces begin with a dot, such as
// `.rdb`. Namespaces are not stored: the name `.rdb.stats` implies the namespace `.rdb`.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "query/language/term.h"

namespace tickstack::query {

// Returns the full name of a name within a namespace: `.rdb` and `stats` give `.rdb.stats`. A name
// in the root does not change.
std::string NameWithin(std::string_view space, std::string_view name);

// Returns the names in a namespace, sorted, each once; empty if there is no such namespace. `.q`
// has the words of q.
//
// Cost: a step for each existing name.
std::vector<std::string> NamesIn(Context& context, std::string_view space);

// Returns the names of the namespaces in the root, which q returns for key`.
std::vector<std::string> Namespaces(Context& context);

// Returns a namespace as a dictionary; nullopt if there is none of that name. As in q, the first
// entry of any namespace except the root has the empty name, and its value is the generic null.
// Values are copied; for the root, these include all tables.
absl::StatusOr<std::optional<Term>> FindNamespace(Context& context, std::string_view space);

// `.rdb `stats`, `.u `i`L`: returns the values of some names in a namespace without computing its
// other values. A name that does not exist gives the generic null. nullopt if there is no such
// namespace, or if the argument is not a symbol or a vector of symbols.
absl::StatusOr<std::optional<Term>> IndexNamespace(Context& context, std::string_view space,
                                                   std::span<const Term> args);

}  // namespace tickstack::query
