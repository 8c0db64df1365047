#pragma once

// What the users file allows a user: the rights of the user's own section and of its groups.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace tickstack::security {

// A set of names of tables or symbols.
struct NameSet {
  bool all = false;  // True for `*` in the file: all names are in the set.
  std::set<std::string, std::less<>> names;

  bool Has(std::string_view name) const { return all || names.contains(name); }
  bool empty() const { return !all && names.empty(); }
  void Add(const NameSet& other);
  bool operator==(const NameSet&) const = default;
};

struct Grants {
  NameSet publish;  // Tables that the user may publish to.
  NameSet query;    // Tables that the user may query.
  // The symbols that may be subscribed to, by table. The table `*` stands for every table.
  std::map<std::string, NameSet, std::less<>> subscribe;
  bool metrics = false;  // True: may read /metrics; so may those who administer.
  bool administer = false;
  int64_t query_timeout_ns = 0;    // Time limit of a query; 0: none.
  size_t query_max_bytes = 0;      // Memory limit of a query; 0: none.
  double requests_per_second = 0;  // Limit of requests; 0: none.
  size_t connections = 0;          // Limit of connections to a process; 0: the process's own.

  // Adds the rights in `other`, but not its limits.
  void AddRights(const Grants& other);
  // Sets each limit to the smaller of its own value and the one in `other`; 0 means no limit.
  void TakeLimits(const Grants& other);

  // Returns the symbols of a table that the user may subscribe to; empty: none.
  NameSet SymbolsOf(std::string_view table) const;
  // True if the user may subscribe to all symbols of all tables, and so may read a log.
  bool SubscribesToAll() const;
  bool operator==(const Grants&) const = default;
};

// Returns every right without limits, as the stack's own processes have them.
Grants AllGrants();

}  // namespace tickstack::security
