#include "security/users_file.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/config.h"
#include "base/status.h"
#include "security/password.h"
#include "security/private_file.h"

namespace tickstack::security {
namespace {

constexpr size_t kUsersMax = 10'000;

absl::Status ReadNames(const ConfigTable& section, std::string_view key, NameSet* target) {
  std::vector<std::string> names;
  TS_RETURN_IF_ERROR(section.Read(key, &names));
  for (std::string& name : names) {
    if (name == "*") {
      target->all = true;
    } else if (name.empty()) {
      return section.ErrorAt(key, "expected names, or \"*\" for all, found an empty one");
    } else {
      target->names.insert(std::move(name));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadSubscriptions(const ConfigTable& section, Grants& grants) {
  NameSet tables, symbols;
  TS_RETURN_IF_ERROR(ReadNames(section, "subscribe", &tables));
  TS_RETURN_IF_ERROR(ReadNames(section, "symbols", &symbols));
  if (!section.Has("symbols")) symbols.all = true;
  if (symbols.empty()) return section.ErrorAt("symbols", "expected at least one symbol");
  if (tables.empty() && section.Has("symbols")) {
    return section.ErrorAt("symbols", "needs `subscribe` in the same section");
  }
  if (tables.all) tables.names.insert("*");
  for (const std::string& table : tables.names) grants.subscribe[table].Add(symbols);
  return absl::OkStatus();
}

absl::Status ReadLimits(const ConfigTable& section, Grants& grants) {
  TS_RETURN_IF_ERROR(section.ReadDuration("query_timeout", &grants.query_timeout_ns));
  TS_RETURN_IF_ERROR(section.ReadBytes("query_max_bytes", &grants.query_max_bytes));
  TS_RETURN_IF_ERROR(section.Read("requests_per_second", &grants.requests_per_second));
  TS_RETURN_IF_ERROR(
      section.Read("connections", &grants.connections, size_t{1}, size_t{1'000'000}));
  for (const auto& [key, value] :
       {std::pair<std::string_view, double>("query_timeout",
                                            static_cast<double>(grants.query_timeout_ns)),
        {"query_max_bytes", static_cast<double>(grants.query_max_bytes)},
        {"requests_per_second", grants.requests_per_second}}) {
    if (section.Has(key) && !(value > 0)) {
      return section.ErrorAt(key, "expected more than 0; without the key there is no limit");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Grants> ReadGrants(const ConfigTable& section) {
  Grants grants;
  TS_RETURN_IF_ERROR(ReadNames(section, "publish", &grants.publish));
  TS_RETURN_IF_ERROR(ReadNames(section, "query", &grants.query));
  TS_RETURN_IF_ERROR(ReadSubscriptions(section, grants));
  TS_RETURN_IF_ERROR(section.Read("metrics", &grants.metrics));
  TS_RETURN_IF_ERROR(section.Read("administer", &grants.administer));
  TS_RETURN_IF_ERROR(ReadLimits(section, grants));
  return grants;
}

using Groups = std::map<std::string, Grants, std::less<>>;

absl::StatusOr<Groups> ReadGroups(const ConfigTable& root) {
  Groups groups;
  TS_ASSIGN_OR_RETURN(const ConfigTable sections, root.Table("groups"));
  for (const std::string& name : sections.Keys()) {
    TS_ASSIGN_OR_RETURN(const ConfigTable section, sections.Table(name));
    TS_ASSIGN_OR_RETURN(groups[name], ReadGrants(section));
  }
  return groups;
}

absl::StatusOr<User> ReadUser(const ConfigTable& section, const Groups& groups) {
  User user;
  TS_RETURN_IF_ERROR(section.Read("password", &user.password));
  if (const auto cost = CostOfHash(user.password); !cost.ok()) {
    return section.ErrorAt("password", Message(cost.status()));
  }
  TS_ASSIGN_OR_RETURN(user.grants, ReadGrants(section));
  std::vector<std::string> names;
  TS_RETURN_IF_ERROR(section.Read("groups", &names));
  Grants limits;
  for (const std::string& name : names) {
    const auto group = groups.find(name);
    if (group == groups.end()) {
      return section.ErrorAt("groups", fmt::format("no group \"{}\" in this file", name));
    }
    user.grants.AddRights(group->second);
    limits.TakeLimits(group->second);
  }
  const auto own_or = [](auto& own, auto of_groups) { own = own != 0 ? own : of_groups; };
  own_or(user.grants.query_timeout_ns, limits.query_timeout_ns);
  own_or(user.grants.query_max_bytes, limits.query_max_bytes);
  own_or(user.grants.requests_per_second, limits.requests_per_second);
  own_or(user.grants.connections, limits.connections);
  return user;
}

}  // namespace

absl::StatusOr<Users> ParseUsers(std::string_view text, std::string_view name) {
  TS_ASSIGN_OR_RETURN(const Config file, Config::Parse(text, name));
  TS_ASSIGN_OR_RETURN(const Groups groups, ReadGroups(file.root()));
  TS_ASSIGN_OR_RETURN(const ConfigTable sections, file.root().Table("users"));
  Users users;
  for (const std::string& key : sections.Keys()) {
    if (const absl::Status valid = CheckUserName(key); !valid.ok()) {
      return sections.ErrorAt(key, Message(valid));
    }
    if (key == kStackUser) {
      return sections.ErrorAt(key, "this name is the stack's own: choose another one");
    }
    TS_ASSIGN_OR_RETURN(const ConfigTable section, sections.Table(key));
    TS_ASSIGN_OR_RETURN(users[key], ReadUser(section, groups));
  }
  if (users.size() > kUsersMax) {
    return InvalidArgument("{}: {} users, expected at most {}", name, users.size(), kUsersMax);
  }
  TS_RETURN_IF_ERROR(file.CheckUnusedKeys());
  return users;
}

absl::StatusOr<Users> LoadUsers(const std::string& path) {
  TS_ASSIGN_OR_RETURN(const std::string text, ReadPrivateFile(path, kOwnerAndGroupReads));
  return ParseUsers(text, path);
}

}  // namespace tickstack::security
