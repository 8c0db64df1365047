#include "cli/tier_config.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/status.h"
#include "cli/read_word.h"

namespace tickstack::cli {
namespace {

using mem::TierKind;

constexpr Words<TierKind, 5> kKinds = {{{"dram", TierKind::kDram},
                                        {"filesystem", TierKind::kFilesystem},
                                        {"persistent", TierKind::kPersistent},
                                        {"numa", TierKind::kNuma},
                                        {"simulate", TierKind::kSimulate}}};
constexpr Words<mem::HugePages, 3> kHugePages = {{{"transparent", mem::HugePages::kTransparent},
                                                  {"explicit", mem::HugePages::kExplicit},
                                                  {"none", mem::HugePages::kNone}}};
constexpr Words<mem::Streaming, 3> kStreaming = {
    {{"auto", mem::Streaming::kAuto}, {"on", mem::Streaming::kOn}, {"off", mem::Streaming::kOff}}};
constexpr Words<bool, 2> kOverflows = {{{"none", false}, {"dram", true}}};
constexpr Words<mem::FileAllocator, 2> kAllocators = {
    {{"arena", mem::FileAllocator::kArena}, {"memkind", mem::FileAllocator::kMemkind}}};

// Which kinds take a key, and which need it, as sets of bits.
constexpr unsigned Bit(TierKind kind) { return 1U << static_cast<unsigned>(kind); }
constexpr unsigned kDram = Bit(TierKind::kDram), kNuma = Bit(TierKind::kNuma);
constexpr unsigned kFilesystem = Bit(TierKind::kFilesystem);
constexpr unsigned kPersistent = Bit(TierKind::kPersistent);
constexpr unsigned kSimulate = Bit(TierKind::kSimulate);
constexpr unsigned kOverflowing = kFilesystem | kNuma;
constexpr unsigned kFiles = kFilesystem | kPersistent, kAll = kDram | kNuma | kFiles | kSimulate;
struct KeyRule {
  std::string_view key;
  unsigned takes;
  unsigned needs;
};
constexpr std::array<KeyRule, 20> kKeys = {{{"kind", kAll, 0},  // ReadKind checks who needs it.
                                            {"path", kFiles | kSimulate, kFiles},
                                            {"size", kAll, kFiles},
                                            {"nodes", kDram | kNuma, kNuma},
                                            {"huge_pages", kDram | kNuma, 0},
                                            {"streaming", kAll, 0},
                                            {"allocator", kFilesystem, 0},
                                            {"touch_ahead", kAll, 0},
                                            {"touch_first", kAll, 0},
                                            {"overflow", kOverflowing, 0},
                                            {"overflow_size", kOverflowing, 0},
                                            {"commit_ms", kPersistent, 0},
                                            {"model", kSimulate, kSimulate},
                                            {"unit", kSimulate, 0},
                                            {"read_ns", kSimulate, 0},
                                            {"reads_at_once", kSimulate, 0},
                                            {"thread_read_gb_per_s", kSimulate, 0},
                                            {"thread_write_gb_per_s", kSimulate, 0},
                                            {"read_gb_per_s", kSimulate, 0},
                                            {"write_gb_per_s", kSimulate, 0}}};

// A table of a process on top of the stack's: a key is taken from the process's table if it is
// there, else from the stack's.
class Layers {
 public:
  Layers(ConfigTable own, ConfigTable stack, std::string process)
      : own_(std::move(own)), stack_(std::move(stack)), process_(std::move(process)) {}

  bool Has(std::string_view key) const { return own_.Has(key) || stack_.Has(key); }
  // Returns the table that the key is taken from. Asks both, so that the key is known in either.
  const ConfigTable& Of(std::string_view key) const {
    const bool stack_has_it = stack_.Has(key);
    return own_.Has(key) || !stack_has_it ? own_ : stack_;
  }
  // Returns the keys of both, the stack's first, each once.
  std::vector<std::string> Keys() const {
    std::vector<std::string> keys = stack_.Keys();
    for (const std::string& key : own_.Keys()) {
      if (!stack_.Has(key)) keys.push_back(key);
    }
    return keys;
  }
  absl::StatusOr<Layers> Table(std::string_view key) const {
    TS_ASSIGN_OR_RETURN(ConfigTable own, own_.Table(key));
    TS_ASSIGN_OR_RETURN(ConfigTable stack, stack_.Table(key));
    return Layers(std::move(own), std::move(stack), process_);
  }
  // Returns an error at the key's place, or at that of `beside` if the key is absent. Names the RDB
  // if the stack's value is wrong only for this one.
  absl::Status ErrorAt(std::string_view key, std::string_view what,
                       std::string_view beside = {}) const {
    const ConfigTable& table = Of(Has(key) || beside.empty() ? key : beside);
    const bool inherited = &table == &stack_ && !process_.empty();
    return table.ErrorAt(key, inherited ? fmt::format("{}: {}", process_, what) : what);
  }

 private:
  ConfigTable own_;
  ConfigTable stack_;
  std::string process_;  // For errors: "rdb fast"; empty: it does not matter.
};

std::string InQuotes(std::string_view text) { return fmt::format("\"{}\"", text); }

// Returns the keys that a kind takes, for errors.
std::string KeysOf(TierKind kind) {
  std::string keys;
  for (const KeyRule& rule : kKeys) {
    if ((rule.takes & Bit(kind)) != 0)
      keys += fmt::format("{}{}", keys.empty() ? "" : ", ", rule.key);
  }
  return keys;
}

absl::Status ReadKind(const Layers& tier, mem::TierOptions& options) {
  TS_RETURN_IF_ERROR(ReadWord(tier.Of("kind"), "kind", kKinds, &options.kind));
  if (options.name == rdb::kDramTier) {
    if (options.kind == TierKind::kDram) return absl::OkStatus();
    return tier.ErrorAt("kind", fmt::format("expected \"dram\" for the tier of this name, found "
                                            "\"{}\": name that tier otherwise",
                                            NameOf(options.kind)));
  }
  if (tier.Has("kind")) return absl::OkStatus();
  return tier.ErrorAt(
      "kind", "expected one of dram, filesystem, persistent, numa, simulate, found no kind");
}

// Reads a model's figures, and those that the file overrides.
absl::Status ReadModel(const Layers& tier, mem::MediumModel& model) {
  std::string name;
  TS_RETURN_IF_ERROR(tier.Of("model").Read("model", &name));
  if (tier.Has("model")) {
    absl::StatusOr<mem::MediumModel> found = mem::FindMediumModel(name);
    if (!found.ok()) return tier.ErrorAt("model", Message(found.status()));
    model = *std::move(found);
  }
  TS_RETURN_IF_ERROR(tier.Of("unit").ReadBytes("unit", &model.unit_bytes));
  const std::pair<const char*, double*> figures[] = {
      {"read_ns", &model.read_ns},
      {"reads_at_once", &model.reads_at_once},
      {"thread_read_gb_per_s", &model.thread_read_gb_per_s},
      {"thread_write_gb_per_s", &model.thread_write_gb_per_s},
      {"read_gb_per_s", &model.read_gb_per_s},
      {"write_gb_per_s", &model.write_gb_per_s}};
  for (const auto& [key, figure] : figures) {
    TS_RETURN_IF_ERROR(tier.Of(key).Read(key, figure));
  }
  return absl::OkStatus();
}

absl::Status ReadOverflow(const Layers& tier, mem::TierOptions& options) {
  bool overflows = false;
  size_t bytes = 0;
  TS_RETURN_IF_ERROR(ReadWord(tier.Of("overflow"), "overflow", kOverflows, &overflows));
  TS_RETURN_IF_ERROR(tier.Of("overflow_size").ReadBytes("overflow_size", &bytes));
  options.overflow_bytes = overflows ? bytes : 0;
  if (overflows && !tier.Has("overflow_size")) {
    return tier.ErrorAt("overflow_size", "overflow = \"dram\" needs it, found none", "overflow");
  }
  if (!tier.Has("overflow_size")) return absl::OkStatus();
  if (!tier.Has("overflow")) {
    return tier.ErrorAt("overflow_size", "expected overflow = \"dram\" as well, found none");
  }
  if (!overflows || bytes >= kFileTierBytesMin) return absl::OkStatus();
  return tier.ErrorAt("overflow_size",
                      fmt::format("expected 16MiB at least, found {} bytes", bytes));
}

// Reads every value on its own; CheckTier checks combinations.
absl::Status ReadKeys(const Layers& tier, rdb::TierConfig& config) {
  mem::TierOptions& options = config.options;
  TS_RETURN_IF_ERROR(tier.Of("path").Read("path", &options.path));
  TS_RETURN_IF_ERROR(tier.Of("size").ReadBytes("size", &options.capacity_bytes));
  TS_RETURN_IF_ERROR(tier.Of("nodes").Read("nodes", &options.nodes, 0, kNumaNodeMax));
  TS_RETURN_IF_ERROR(
      ReadWord(tier.Of("huge_pages"), "huge_pages", kHugePages, &options.huge_pages));
  TS_RETURN_IF_ERROR(ReadWord(tier.Of("streaming"), "streaming", kStreaming, &options.streaming));
  TS_RETURN_IF_ERROR(ReadWord(tier.Of("allocator"), "allocator", kAllocators, &options.allocator));
  TS_RETURN_IF_ERROR(tier.Of("touch_ahead").ReadBytes("touch_ahead", &options.touch_ahead_bytes));
  TS_RETURN_IF_ERROR(tier.Of("touch_first").ReadBytes("touch_first", &options.touch_first_bytes));
  TS_RETURN_IF_ERROR(ReadOverflow(tier, options));
  TS_RETURN_IF_ERROR(tier.Of("commit_ms").Read("commit_ms", &config.commit_ms, 0, 3'600'000));
  return ReadModel(tier, options.model);
}

// Returns why a kind does not take a key, and what to do instead; by default, the keys that it
// takes.
std::string WhyNot(std::string_view key, TierKind kind) {
  const bool overflows = key == "overflow" || key == "overflow_size";
  if (overflows && kind == TierKind::kPersistent) {
    return ", since a restart would lack the rows in DRAM: expected a larger size, or kind = "
           "\"filesystem\", with which a restart takes all rows from the log";
  }
  if (overflows && kind == TierKind::kSimulate) {
    return ", since DRAM would be charged as the slower medium: expected a larger size";
  }
  return ": expected " + KeysOf(kind);
}

absl::Status CheckTier(const Layers& tier, const mem::TierOptions& options) {
  const unsigned kind = Bit(options.kind);
  for (const KeyRule& rule : kKeys) {
    const bool there = tier.Has(rule.key);
    if (there && (rule.takes & kind) == 0) {
      return tier.ErrorAt(rule.key,
                          fmt::format("a tier of kind {} does not take it{}", NameOf(options.kind),
                                      WhyNot(rule.key, options.kind)));
    }
    if (!there && (rule.needs & kind) != 0) {
      return tier.ErrorAt(
          rule.key, fmt::format("a tier of kind {} needs it, found none", NameOf(options.kind)),
          "kind");
    }
  }
  if (tier.Has("path") && options.path.empty()) {
    return tier.ErrorAt("path", "expected a directory, found \"\"");
  }
  const bool in_files = !options.path.empty();
  if (in_files && !tier.Has("size")) {
    return tier.ErrorAt("size", "a tier in a directory needs it, found none", "path");
  }
  if (in_files && options.capacity_bytes < kFileTierBytesMin) {
    return tier.ErrorAt(
        "size", fmt::format("expected 16MiB at least, found {} bytes", options.capacity_bytes));
  }
  if (tier.Has("nodes") && options.nodes.empty()) {
    return tier.ErrorAt("nodes", "expected at least one node, such as [1], found none");
  }
  if (options.kind != TierKind::kSimulate) return absl::OkStatus();
  const absl::Status model = mem::CheckMediumModel(options.model);
  return model.ok() ? model : tier.ErrorAt("model", Message(model));
}

rdb::TierConfig* Find(std::vector<rdb::TierConfig>& tiers, std::string_view name) {
  for (rdb::TierConfig& tier : tiers) {
    if (tier.options.name == name) return &tier;
  }
  return nullptr;
}

// Checks a tier's name, which becomes a column of the monitor's CSV and part of file names.
absl::Status CheckTierName(const Layers& tiers, const std::string& name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
  if (plain && !name.empty()) return absl::OkStatus();
  return tiers.ErrorAt(name, "expected letters, digits, - and _ in the name of a tier");
}

absl::Status ReadAllTiers(const Layers& tiers, std::vector<rdb::TierConfig>& configs) {
  for (const std::string& name : tiers.Keys()) {
    TS_RETURN_IF_ERROR(CheckTierName(tiers, name));
    TS_ASSIGN_OR_RETURN(const Layers tier, tiers.Table(name));
    rdb::TierConfig* config = Find(configs, name);
    if (config == nullptr) config = &configs.emplace_back(rdb::TierConfigOf(name));
    TS_RETURN_IF_ERROR(ReadKind(tier, config->options));
    TS_RETURN_IF_ERROR(ReadKeys(tier, *config));
    TS_RETURN_IF_ERROR(CheckTier(tier, config->options));
  }
  return absl::OkStatus();
}

std::string TierNames(const std::vector<rdb::TierConfig>& tiers) {
  std::string names;
  for (const rdb::TierConfig& tier : tiers) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", tier.options.name);
  }
  return names;
}

constexpr std::string_view kThen = "then", kOlderThan = "older_than_minutes";

// Reads where rows go when they are old. An empty tier for one RDB means that its rows stay,
// whatever the stack says.
absl::Status ReadAge(const Layers& placement, const std::vector<Schema>* schemas,
                     rdb::RdbMainOptions& options) {
  constexpr int64_t kNsPerMinute = 60 * kNsPerSecond;
  constexpr int kMinutesMax = 7 * 24 * 60;
  std::string tier;
  int minutes = 0;
  TS_RETURN_IF_ERROR(placement.Of(kThen).Read(kThen, &tier));
  TS_RETURN_IF_ERROR(placement.Of(kOlderThan).Read(kOlderThan, &minutes, 1, kMinutesMax));
  if (placement.Has(kThen) != placement.Has(kOlderThan)) {
    const std::string_view found = placement.Has(kThen) ? kThen : kOlderThan;
    return placement.ErrorAt(found == kThen ? kOlderThan : kThen,
                             fmt::format("{} needs it, found none", found), found);
  }
  if (!placement.Has(kThen) || tier.empty()) return absl::OkStatus();
  if (schemas != nullptr && std::ranges::find(*schemas, kThen, &Schema::table) != schemas->end()) {
    return placement.ErrorAt(kThen, fmt::format("a table has this name as well: place its columns "
                                                "one by one, \"{}.time\" ...",
                                                kThen));
  }
  const rdb::TierConfig* const older = Find(options.tiers, tier);
  if (older == nullptr) {
    return placement.ErrorAt(kThen, fmt::format("expected one of the tiers {}, found \"{}\"",
                                                TierNames(options.tiers), tier));
  }
  if (older->options.kind == TierKind::kPersistent) {
    return placement.ErrorAt(
        kThen, fmt::format("tier {} is persistent, which holds whole tables: expected a tier of "
                           "kind filesystem, numa or dram",
                           tier));
  }
  options.placement.SetAge({tier, minutes * kNsPerMinute});
  return absl::OkStatus();
}

// Checks that an age rule moves something, and that nothing that moves is simulated: readers charge
// a column as one medium.
absl::Status CheckAge(const Layers& placement, const rdb::RdbMainOptions& options) {
  const rdb::PlacementRules& rules = options.placement;
  if (!rules.age()) return absl::OkStatus();
  bool moves = false;
  for (const rdb::TierConfig& tier : options.tiers) {
    const std::string& name = tier.options.name;
    if (!rules.HoldsRows(name)) continue;
    if (tier.options.kind == TierKind::kSimulate) {
      return placement.ErrorAt(
          kThen, fmt::format("tier {} is SIMULATED, and a column is charged as one medium: "
                             "expected tiers of real memory, or no {}",
                             name, kThen));
    }
    moves |= name != rules.age()->tier && tier.options.kind != TierKind::kPersistent;
  }
  if (moves) return absl::OkStatus();
  return placement.ErrorAt(
      kThen, fmt::format("no rows can move to tier {}: expected rows in another tier that is not "
                         "persistent",
                         rules.age()->tier));
}

absl::Status ReadPlacement(const Layers& placement, const std::vector<Schema>* schemas,
                           rdb::RdbMainOptions& options) {
  TS_RETURN_IF_ERROR(ReadAge(placement, schemas, options));
  for (const std::string& key : placement.Keys()) {
    if (key == kThen || key == kOlderThan) continue;
    const ConfigTable& table = placement.Of(key);
    if (table.Table(key).ok()) {  // `quote.time = "dram"` without quotes.
      return placement.ErrorAt(
          key, fmt::format("expected the name of a tier, found a table: a column is one key, in "
                           "quotes, such as \"{}.time\"",
                           key));
    }
    std::string tier;
    TS_RETURN_IF_ERROR(table.Read(key, &tier));
    if (Find(options.tiers, tier) == nullptr) {
      return placement.ErrorAt(key, fmt::format("expected one of the tiers {}, found \"{}\"",
                                                TierNames(options.tiers), tier));
    }
    if (schemas != nullptr) {
      const absl::Status named = rdb::CheckPlacementKey(key, *schemas);
      if (!named.ok()) return placement.ErrorAt(key, Message(named));
    }
    options.placement.Set(key, tier);
  }
  return absl::OkStatus();
}

std::string KeyNames(const Schema& schema) {
  std::string names;
  for (size_t i = 0; i < schema.key_columns; ++i) {
    names += (names.empty() ? "" : ", ") + schema.columns[i].name;
  }
  return names;
}

// A persistent tier restores an RDB's rows after a restart, so it holds a table with all of its
// columns and its index, or nothing of it; tables in other tiers are filled from the log again.
// Scratch memory of queries must not be in it, since it must not survive, and neither may a table
// that cannot be persistent.
class PersistentCheck {
 public:
  PersistentCheck(const Layers& placement, const std::vector<Schema>* schemas,
                  rdb::RdbMainOptions& options)
      : placement_(placement), schemas_(schemas), options_(options), rules_(options.placement) {}

  absl::Status Check() {
    const std::string_view rest = rules_.TierOfTheRest();
    for (const auto& [key, tier] : rules_.keys()) {
      if (key == "query") {
        if (!IsPersistent(tier)) continue;
        return placement_.ErrorAt(
            key, fmt::format("tier {} is persistent: expected another kind, what queries build "
                             "does not outlive them",
                             tier));
      }
      const bool is_part = key == "index" || key.find('.') != std::string::npos;
      const std::string_view whole = key == "index" || !is_part
                                         ? rest
                                         : rules_.TierOfColumn(rdb::TableOfPlacementKey(key), "");
      if (tier == whole || (!IsPersistent(tier) && !IsPersistent(whole))) continue;
      if (IsPersistent(rest) && !is_part && !IsPersistent(tier)) {
        TS_RETURN_IF_ERROR(CheckIndexOf(key));
        continue;
      }
      return WrongTier(key, tier, whole, rest);
    }
    return CheckKeyedTables(rest);
  }

 private:
  bool IsPersistent(std::string_view tier) const {
    return Find(options_.tiers, tier)->options.kind == TierKind::kPersistent;
  }

  absl::Status WrongTier(std::string_view key, std::string_view tier, std::string_view whole,
                         std::string_view rest) const {
    if (IsPersistent(rest)) {
      return placement_.ErrorAt(
          key, fmt::format("expected \"{}\", found \"{}\": a persistent tier holds all columns and "
                           "the index of a table or none",
                           whole, tier));
    }
    return placement_.ErrorAt(
        key, fmt::format("tier {} is persistent, which holds all of an rdb but tables that are "
                         "placed elsewhere: expected default = {} as well, found {}",
                         tier, InQuotes(tier), InQuotes(rest)));
  }

  // The key `index` may place the index of a table in another tier than its columns.
  absl::Status CheckIndexOf(std::string_view table) const {
    const std::string_view index = rules_.TierOfIndex(table);
    if (!IsPersistent(index)) return absl::OkStatus();
    return placement_.ErrorAt(
        table,
        fmt::format("its index is in the persistent tier {}, for index = {} says so: expected "
                    "\"{}.index\" elsewhere as well",
                    index, InQuotes(index), table));
  }

  absl::Status CheckKeyedTables(std::string_view rest) const {
    if (schemas_ == nullptr) return absl::OkStatus();
    for (const Schema& schema : *schemas_) {
      if (schema.key_columns == 0 || !IsPersistent(rules_.TierOfColumn(schema.table, ""))) continue;
      return placement_.ErrorAt(
          "default",
          fmt::format("tier {} is persistent, and table {} has the key {}: expected {} = "
                      "\"dram\" or another kind of tier, or the table without a key",
                      rest, schema.table, KeyNames(schema), schema.table));
    }
    return absl::OkStatus();
  }

  const Layers& placement_;
  const std::vector<Schema>* const schemas_;
  rdb::RdbMainOptions& options_;
  const rdb::PlacementRules& rules_;
};

// Only rows and indexes count the bytes that are read of them; memory that is built in does not.
constexpr std::string_view kOnlyRowsAreCharged =
    "is SIMULATED, which charges columns and indexes only: expected a tier of real memory";

absl::Status CheckSimulated(const Layers& placement, rdb::RdbMainOptions& options) {
  const std::string queries(options.placement.TierOfQueries());
  if (Find(options.tiers, queries)->options.kind != TierKind::kSimulate) return absl::OkStatus();
  return placement.ErrorAt("query", fmt::format("tier {} {}", queries, kOnlyRowsAreCharged));
}

void WarnOfUnused(const ConfigTable& tiers, std::string_view name,
                  std::vector<std::string>& warnings) {
  warnings.emplace_back(
      Message(tiers.ErrorAt(name, "this tier is declared, and nothing is placed in it")));
}

}  // namespace

absl::Status ReadTiers(const ConfigTable& root, const ConfigTable& rdb,
                       const std::vector<Schema>* schemas, rdb::RdbMainOptions& options,
                       std::vector<std::string>& warnings) {
  const Layers both(rdb, root, options.name.empty() ? "" : fmt::format("rdb {}", options.name));
  TS_ASSIGN_OR_RETURN(const Layers tiers, both.Table("tier"));
  TS_RETURN_IF_ERROR(ReadAllTiers(tiers, options.tiers));
  TS_ASSIGN_OR_RETURN(const Layers placement, both.Table("placement"));
  TS_RETURN_IF_ERROR(ReadPlacement(placement, schemas, options));
  TS_RETURN_IF_ERROR(CheckAge(placement, options));
  TS_RETURN_IF_ERROR(CheckSimulated(placement, options));
  TS_RETURN_IF_ERROR(PersistentCheck(placement, schemas, options).Check());
  TS_ASSIGN_OR_RETURN(const ConfigTable own, rdb.Table("tier"));
  TS_ASSIGN_OR_RETURN(const ConfigTable stack, root.Table("tier"));
  for (const std::string& name : own.Keys()) {
    if (!stack.Has(name) && !options.placement.Uses(name)) WarnOfUnused(own, name, warnings);
  }
  return absl::OkStatus();
}

absl::Status ReadStateTier(const ConfigTable& root, const ConfigTable& table,
                           mem::TierOptions& state, std::vector<std::string>& warnings) {
  const Layers both(table, root, "aggengine");
  TS_ASSIGN_OR_RETURN(const Layers tiers, both.Table("tier"));
  std::vector<rdb::TierConfig> configs = {rdb::TierConfigOf(rdb::kDramTier)};
  TS_RETURN_IF_ERROR(ReadAllTiers(tiers, configs));
  TS_ASSIGN_OR_RETURN(const ConfigTable placement, table.Table("placement"));
  std::string name(rdb::kDramTier);
  TS_RETURN_IF_ERROR(placement.Read("state", &name));
  const rdb::TierConfig* const config = Find(configs, name);
  if (config == nullptr) {
    return placement.ErrorAt("state", fmt::format("expected one of the tiers {}, found \"{}\"",
                                                  TierNames(configs), name));
  }
  if (config->options.kind == TierKind::kPersistent) {
    return placement.ErrorAt(
        "state", fmt::format("tier {} is persistent: expected another kind, the state comes back "
                             "from the log",
                             name));
  }
  if (config->options.kind == TierKind::kSimulate) {
    return placement.ErrorAt("state", fmt::format("tier {} {}", name, kOnlyRowsAreCharged));
  }
  if (config->options.overflow_bytes > 0) {
    return placement.ErrorAt(
        "state",
        fmt::format("tier {} has an overflow, which is for rows: expected a tier without", name));
  }
  state = config->options;
  TS_ASSIGN_OR_RETURN(const ConfigTable own, table.Table("tier"));
  TS_ASSIGN_OR_RETURN(const ConfigTable stack, root.Table("tier"));
  for (const std::string& declared : own.Keys()) {
    if (!stack.Has(declared) && declared != name) WarnOfUnused(own, declared, warnings);
  }
  return absl::OkStatus();
}

absl::Status CheckStackTiers(const ConfigTable& root, const std::vector<rdb::RdbMainOptions>& rdbs,
                             std::string_view state, std::vector<std::string>& warnings) {
  if (rdbs.empty()) {
    TS_ASSIGN_OR_RETURN(const ConfigTable nothing, root.Table("rdb"));
    rdb::RdbMainOptions ignored;
    ignored.name.clear();
    TS_RETURN_IF_ERROR(ReadTiers(root, nothing, nullptr, ignored, warnings));
  }
  TS_ASSIGN_OR_RETURN(const ConfigTable stack, root.Table("tier"));
  for (const std::string& name : stack.Keys()) {
    const bool used = std::any_of(rdbs.begin(), rdbs.end(), [&](const rdb::RdbMainOptions& rdb) {
      return rdb.placement.Uses(name);
    });
    if (!used && name != state) WarnOfUnused(stack, name, warnings);
  }
  return absl::OkStatus();
}

}  // namespace tickstack::cli
