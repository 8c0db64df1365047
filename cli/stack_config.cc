#include "cli/stack_config.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include "base/config.h"
#include "base/status.h"
#include "base/string_map.h"
#include "base/time.h"
#include "cli/bars_config.h"
#include "cli/eod_config.h"
#include "cli/read_word.h"
#include "cli/shard_config.h"
#include "cli/source_config.h"
#include "cli/tier_config.h"
#include "cli/tls_config.h"
#include "query/language/schema_names.h"
#include "table/keyed_table.h"

namespace tickstack::cli {
namespace {

absl::Status ReadStack(const ConfigTable& table, StackConfig& config) {
  constexpr std::array kLevels = {
      std::pair<std::string_view, LogLevel>{"debug", LogLevel::kDebug},
      std::pair<std::string_view, LogLevel>{"info", LogLevel::kInfo},
      std::pair<std::string_view, LogLevel>{"warn", LogLevel::kWarn},
      std::pair<std::string_view, LogLevel>{"error", LogLevel::kError},
  };
  TS_RETURN_IF_ERROR(ReadName(table, &config.name));
  TS_RETURN_IF_ERROR(table.Read("data", &config.data));
  TS_RETURN_IF_ERROR(ReadWord(table, "log_level", kLevels, &config.log_level));
  constexpr std::array kFormats = {
      std::pair<std::string_view, LogFormat>{"text", LogFormat::kText},
      std::pair<std::string_view, LogFormat>{"json", LogFormat::kJson},
  };
  TS_RETURN_IF_ERROR(ReadWord(table, "log_format", kFormats, &config.log_format));
  constexpr std::array kAccess = {
      std::pair<std::string_view, FileAccess>{"owner", FileAccess::kOwner},
      std::pair<std::string_view, FileAccess>{"group", FileAccess::kGroup},
      std::pair<std::string_view, FileAccess>{"everyone", FileAccess::kEveryone},
  };
  TS_RETURN_IF_ERROR(ReadWord(table, "readable_by", kAccess, &config.readable_by));
  return table.Read("restart", &config.restart);
}

// Without `[tables]`, the feeds' sources say which tables there are.
absl::StatusOr<std::vector<Schema>> DefaultSchemasOf(const ConfigTable& root) {
  std::vector<Schema> all;
  TS_ASSIGN_OR_RETURN(const std::vector<ConfigTable> sections, root.Tables("feed"));
  for (const ConfigTable& section : sections) {
    feed::SourceSettings source;
    TS_RETURN_IF_ERROR(ReadSource(section, source));
    std::vector<Schema> schemas = source.chosen().Schemas();
    if (schemas.empty()) schemas = DefaultSchemas();
    for (Schema& schema : schemas) {
      const auto known = std::ranges::find(all, schema.table, &Schema::table);
      if (known == all.end()) {
        all.push_back(std::move(schema));
      } else if (*known != schema) {
        return section.ErrorAt(
            "source", fmt::format("another feed has a table {} with other columns: write [tables]",
                                  schema.table));
      }
    }
  }
  return all.empty() ? DefaultSchemas() : all;
}

absl::StatusOr<std::vector<Schema>> ReadSchemas(const ConfigTable& root) {
  if (!root.Has("tables")) return DefaultSchemasOf(root);
  TS_ASSIGN_OR_RETURN(const ConfigTable tables, root.Table("tables"));
  std::vector<Schema> schemas;
  for (const std::string& name : tables.Keys()) {
    std::string columns;
    TS_RETURN_IF_ERROR(tables.Read(name, &columns));
    absl::StatusOr<Schema> schema = ParseSchema(name, columns);
    if (!schema.ok()) return tables.ErrorAt(name, Message(schema.status()));
    if (const absl::Status named = query::CheckSchemaNames(*schema); !named.ok()) {
      return tables.ErrorAt(name, Message(named));
    }
    if (const absl::Status keyed = CheckKeyedSchema(*schema); !keyed.ok()) {
      return tables.ErrorAt(name, Message(keyed));
    }
    schemas.push_back(*std::move(schema));
  }
  if (schemas.empty()) return root.ErrorAt("tables", "expected at least one table");
  return schemas;
}

// Two processes of one name would share a log file, and an address could not tell them apart.
absl::Status CheckNames(const ConfigTable& root, StackConfig& config) {
  StringSet names;
  for (const ListedProcess& listed : ProcessesOf(config)) {
    const std::string& name = listed.process->name();
    if (names.insert(name).second) continue;
    return root.ErrorAt(
        listed.kind->role,
        fmt::format("the name {} is taken by another process: give it a name", name));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ConfigTable>> SectionsOf(const ConfigTable& root,
                                                    const ProcessKind& kind) {
  if (kind.several) return root.Tables(kind.role);
  std::vector<ConfigTable> sections;
  if (!root.Has(kind.role)) return sections;
  TS_ASSIGN_OR_RETURN(ConfigTable section, root.Table(kind.role));
  sections.push_back(std::move(section));
  return sections;
}

absl::StatusOr<StackConfig> ReadConfig(const Config& file) {
  const ConfigTable& root = file.root();
  StackConfig config;
  std::string date;
  TS_ASSIGN_OR_RETURN(const ConfigTable stack, root.Table("stack"));
  TS_RETURN_IF_ERROR(ReadStack(stack, config));
  TS_RETURN_IF_ERROR(stack.Read("date", &date));
  TS_ASSIGN_OR_RETURN(const ConfigTable security, root.Table("security"));
  TS_RETURN_IF_ERROR(ReadSecurity(security, config.security));
  TS_ASSIGN_OR_RETURN(config.schemas, ReadSchemas(root));
  if (root.Has("aggengine")) {
    TS_ASSIGN_OR_RETURN(const ConfigTable aggengine, root.Table("aggengine"));
    TS_ASSIGN_OR_RETURN(config.bars, ReadBars(aggengine, config.schemas, config.warnings));
  }
  for (const ProcessKind& kind : kProcesses) {
    TS_ASSIGN_OR_RETURN(const std::vector<ConfigTable> sections, SectionsOf(root, kind));
    for (const ConfigTable& section : sections) {
      TS_RETURN_IF_ERROR(kind.read(kind, root, section, config));
    }
  }
  TS_RETURN_IF_ERROR(CheckStackTiers(
      root, config.rdbs, config.aggengine ? config.aggengine->state.name : "", config.warnings));
  TS_RETURN_IF_ERROR(ReadEndOfDay(root, config.hdb ? config.hdb->name : "", config.rdbs));
  TS_RETURN_IF_ERROR(ReadTls(root, config));
  TS_RETURN_IF_ERROR(CheckNames(root, config));
  TS_RETURN_IF_ERROR(ReadShards(root, config));
  TS_RETURN_IF_ERROR(file.CheckUnusedKeys());
  TS_RETURN_IF_ERROR(CheckNames(root, config));
  SetData(config, config.data);
  if (date.empty()) return config;
  const absl::Status dated = SetDate(config, date);
  if (!dated.ok()) return stack.ErrorAt("date", Message(dated));
  return config;
}

// Line and column of `file:line:column: what`; zeros if it has none.
std::pair<int, int> PlaceOf(std::string_view error, const std::string& file) {
  std::pair<int, int> place;
  if (!error.starts_with(file + ":")) return place;
  std::sscanf(std::string(error.substr(file.size() + 1)).c_str(), "%d:%d", &place.first,
              &place.second);
  return place;
}

}  // namespace

// Reads a stack's file. If there is none, the error says how to get one.
static absl::StatusOr<Config> LoadFile(const std::string& path) {
  absl::StatusOr<Config> file = Config::Load(path);
  if (!absl::IsNotFound(file.status())) return file;
  return NotFound("{}; `tickstack init {}` writes one", Message(file.status()), path);
}

ConfigErrors FindConfigErrors(const std::string& path) {
  absl::StatusOr<Config> file = LoadFile(path);
  if (!file.ok()) return {{std::string(Message(file.status()))}, false};
  ConfigErrors found;
  bool lost_table = false;
  while (true) {
    const absl::Status status = ReadConfig(*file).status();
    if (status.ok()) break;
    const Config::Wrong wrong = file->wrong();
    const bool is_sure = wrong == Config::Wrong::kType || wrong == Config::Wrong::kUnknown ||
                         (wrong != Config::Wrong::kFollows && !lost_table);
    if (is_sure) {
      std::istringstream lines{std::string(Message(status))};
      for (std::string line; std::getline(lines, line);) found.errors.push_back(line);
    } else {
      found.may_hide_more = true;
    }
    lost_table |= wrong == Config::Wrong::kMissing || wrong == Config::Wrong::kFollows;
    if (!file->DropWrong()) {
      found.may_hide_more = true;
      break;
    }
  }
  std::ranges::stable_sort(found.errors, {},
                           [&path](const std::string& error) { return PlaceOf(error, path); });
  return found;
}

std::vector<ListedProcess> ProcessesOf(StackConfig& config) {
  std::vector<ListedProcess> all;
  for (const ProcessKind& kind : kProcesses) {
    for (std::unique_ptr<StackProcess>& process : kind.find(config)) {
      all.push_back({&kind, std::move(process)});
    }
  }
  return all;
}

// Reads a name, which becomes part of file names.
absl::Status ReadName(const ConfigTable& table, std::string* name) {
  TS_RETURN_IF_ERROR(table.Read("name", name));
  const bool plain = std::all_of(name->begin(), name->end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
  if (plain && !name->empty() && name->front() != '.') return absl::OkStatus();
  return table.ErrorAt("name",
                       fmt::format("expected letters, digits, -, _ and ., found \"{}\"", *name));
}

bool KnowsTables(const StackConfig& config, const rdb::RdbMainOptions& rdb) {
  return rdb.replay.empty() && std::ranges::any_of(config.tickerplant.all, [&](const auto& each) {
           return each.name == rdb.tickerplant;
         });
}

absl::StatusOr<StackConfig> LoadStackConfig(const std::string& path) {
  TS_ASSIGN_OR_RETURN(const Config file, LoadFile(path));
  return ReadConfig(file);
}

absl::StatusOr<StackConfig> ParseStackConfig(std::string_view text, std::string_view file_name) {
  TS_ASSIGN_OR_RETURN(const Config file, Config::Parse(text, file_name));
  return ReadConfig(file);
}

namespace {

// Returns the processes of which one leads and the others are its standbys, if `name` is one of
// them; none without a cluster. Each shard has a cluster of its own.
std::vector<std::string> ClusterOf(const StackConfig& config, const std::string& name) {
  std::vector<std::string> members;
  const auto add = [&](const auto& all) {
    for (const auto& each : all) {
      if (ShardOf(config, each.name) == ShardOf(config, name)) members.push_back(each.name);
    }
  };
  if (config.standbys.empty()) return members;
  add(config.tickerplant.all);
  add(config.standbys);
  if (std::ranges::find(members, name) == members.end()) members.clear();
  return members;
}

}  // namespace

void ResolveAddresses(StackConfig& config) {
  const std::vector<ListedProcess> all = ProcessesOf(config);
  const auto one = [&all](const std::string& address) {
    for (const ListedProcess& listed : all) {
      const wire::ListenerOptions& listener = listed.process->listener();
      if (listed.process->name() == address) {
        return wire::AddressOf(listener).ToString();
      }
    }
    return address;
  };
  // Clients of one member know all of them.
  const AddressOf address_of = [&](const std::string& addresses) {
    std::string found;
    std::istringstream list(addresses);
    for (std::string address; std::getline(list, address, ',');) {
      found += (found.empty() ? "" : ",") + one(address);
      for (const std::string& member : ClusterOf(config, address)) {
        if (member != address) found += "," + one(member);
      }
    }
    return found;
  };
  for (const ListedProcess& listed : all) listed.process->Resolve(address_of);
}

absl::Status SetDate(StackConfig& config, const std::string& date) {
  const std::optional<int32_t> day = ParseDate(date);
  if (!day.has_value()) {
    return InvalidArgument("expected a date such as 2013.10.07, found \"{}\"", date);
  }
  config.date = date;
  for (const ListedProcess& listed : ProcessesOf(config)) listed.process->SetDate(*day);
  return absl::OkStatus();
}

void SetData(StackConfig& config, const std::string& data) {
  config.data = data;
  for (const ListedProcess& listed : ProcessesOf(config)) {
    listed.process->SetData(DataOf(config, listed.process->name()));
  }
}

}  // namespace tickstack::cli
