#pragma once

// Names with dots: the names in a namespace, and a namespace as a dictionary of their values.
//
// The root's name is a dot; other names begin with one, such as `.rdb`. Namespaces are not stored:
// a name with dots implies those that contain it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "query/language/term.h"

namespace tickstack::query {

// Returns a name within a namespace: `.rdb` and `stats` give `.rdb.stats`; within the root it does
// not change.
std::string NameWithin(std::string_view space, std::string_view name);

// Returns the names in a namespace, sorted, each once; empty if there is no such namespace. `.q`
// has the words of q.
//
// Cost: a step for each existing name.
std::vector<std::string> NamesIn(Context& context, std::string_view space);

// Returns the namespaces in the root, for `key``.
std::vector<std::string> Namespaces(Context& context);

// Returns a namespace as a dictionary; nullopt if there is none of that name. As in q, its first
// entry is the generic null under the empty name, except in the root. Values are copied: for the
// root, with all of its tables.
absl::StatusOr<std::optional<Term>> FindNamespace(Context& context, std::string_view space);

// `.rdb `stats`, `.u `i`L`: returns the values of names in a namespace without computing the
// others; nullopt if there is no such namespace, or if the arguments are no names. A name that it
// lacks gives the generic null.
absl::StatusOr<std::optional<Term>> IndexNamespace(Context& context, std::string_view space,
                                                   std::span<const Term> args);

}  // namespace tickstack::query
