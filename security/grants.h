#pragma once

// What a user may do, as the users file says it: the user's own keys and those of its groups
// together. A value, without sockets or files.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace tickstack::security {

// A set of names; `*` in the file is all of them.
struct NameSet {
  bool all = false;
  std::set<std::string, std::less<>> names;

  bool Has(std::string_view name) const { return all || names.contains(name); }
  bool empty() const { return !all && names.empty(); }
  void Add(const NameSet& other);
  bool operator==(const NameSet&) const = default;
};

struct Grants {
  NameSet publish;  // Tables.
  NameSet query;    // Tables.
  // Symbols by table. The table `*` is every table.
  std::map<std::string, NameSet, std::less<>> subscribe;
  bool metrics = false;  // True: may read /metrics; so may those who administer.
  bool administer = false;
  // Limits on queries and other requests; 0: none.
  int64_t query_timeout_ns = 0;
  size_t query_max_bytes = 0;
  double requests_per_second = 0;

  // Adds what the others allow, without their limits.
  void AddRights(const Grants& other);
  // Sets limits that are not set, and lowers those that are higher.
  void TakeLimits(const Grants& other);

  // Returns the symbols of a table that may be subscribed to; empty: the table may not.
  NameSet SymbolsOf(std::string_view table) const;
  // True if all symbols of all tables may be subscribed to: what a log contains.
  bool SubscribesToAll() const;
  bool operator==(const Grants&) const = default;
};

// Every right, without limits: what the stack's own processes have.
Grants AllGrants();

}  // namespace tickstack::security
