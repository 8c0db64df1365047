#include "security/grants.h"

#include <algorithm>

namespace tickstack::security {
namespace {

constexpr std::string_view kEveryTable = "*";

// Sets `limit` to the smaller one of two; 0 is none.
template <typename T>
void TakeLimit(T& limit, T other) {
  if (other != 0) limit = limit == 0 ? other : std::min(limit, other);
}

}  // namespace

void NameSet::Add(const NameSet& other) {
  all = all || other.all;
  names.insert(other.names.begin(), other.names.end());
}

void Grants::AddRights(const Grants& other) {
  publish.Add(other.publish);
  query.Add(other.query);
  for (const auto& [table, symbols] : other.subscribe) subscribe[table].Add(symbols);
  metrics = metrics || other.metrics;
  administer = administer || other.administer;
}

void Grants::TakeLimits(const Grants& other) {
  TakeLimit(query_timeout_ns, other.query_timeout_ns);
  TakeLimit(query_max_bytes, other.query_max_bytes);
  TakeLimit(requests_per_second, other.requests_per_second);
  TakeLimit(connections, other.connections);
}

NameSet Grants::SymbolsOf(std::string_view table) const {
  NameSet symbols;
  for (const std::string_view key : {table, kEveryTable}) {
    const auto found = subscribe.find(key);
    if (found != subscribe.end()) symbols.Add(found->second);
  }
  return symbols;
}

bool Grants::SubscribesToAll() const {
  const auto every = subscribe.find(kEveryTable);
  return every != subscribe.end() && every->second.all;
}

Grants AllGrants() {
  Grants grants;
  grants.publish.all = grants.query.all = grants.metrics = grants.administer = true;
  grants.subscribe[std::string(kEveryTable)].all = true;
  return grants;
}

}  // namespace tickstack::security
