#pragma once

// Names with dots: which names a namespace has, and a namespace as a dictionary of their values.
//
// The root's name is a dot; the others begin with one, `.rdb`. They are not kept anywhere: a name
// with dots makes the namespaces that it is in.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "query/language/term.h"

namespace tickstack::query {

// A name within a namespace, `.rdb` and `stats` to `.rdb.stats`; within the root as it is.
std::string NameWithin(std::string_view space, std::string_view name);

// The names in a namespace, sorted, each once; empty: there is no such namespace. `.q` has the
// words of q.
//
// Cost: a step for each name that there is.
std::vector<std::string> NamesIn(Context& context, std::string_view space);

// The namespaces in the root, for `key``.
std::vector<std::string> Namespaces(Context& context);

// A namespace as a dictionary; nullopt: there is none of that name. As in q its first entry is the
// generic null under the empty name, but for the root's. What a name stands for is copied out: the
// root with all of its tables.
absl::StatusOr<std::optional<Term>> FindNamespace(Context& context, std::string_view space);

// `.rdb `stats`, `.u `i`L`: what names in a namespace stand for, without what the others do;
// nullopt: there is no such namespace, or the arguments are no names. A name that it does not have
// is the generic null.
absl::StatusOr<std::optional<Term>> IndexNamespace(Context& context, std::string_view space,
                                                   std::span<const Term> args);

}  // namespace tickstack::query
