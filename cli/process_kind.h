#pragma once

// The types of cli/process_table.h: a kind of process, and one process of a configuration.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/config.h"
#include "base/status.h"
#include "cli/health_config.h"
#include "cli/listener_config.h"
#include "serve/live_settings.h"
#include "serve/metrics.h"
#include "wire/listener_options.h"

namespace CLI {
class App;
}

namespace tickstack::cli {

struct StackConfig;

// Returns `host:port` of a process if `address` is its name, otherwise `address`.
using AddressOf = std::function<std::string(const std::string& address)>;

// Arguments of a child process.
using Flags = std::vector<std::string>;

// What a kind of process does with its options. Each cli/ROLE_process.cc defines one of these.
// `read`, `add_flags`, `run` and `metrics` are required.
template <typename Options>
struct ProcessHooks {
  // Reads the keys of one section, except `name` and those of the listener, which `options` already
  // has. Kinds that are above in the table have been read.
  absl::Status (*read)(const ConfigTable& root, const ConfigTable& section, StackConfig& config,
                       Options& options);
  // Adds the flags of the subcommand, except --name and those of the listener. May return a
  // function, which is called when all flags are known; it throws CLI::ValidationError if they are
  // wrong.
  std::function<void()> (*add_flags)(CLI::App& command, StackConfig& config, Options& options);
  // Runs the process; returns its exit code.
  int (*run)(const StackConfig& config, Options& options);
  // Replaces the names of processes in addresses. Null if the options have no addresses.
  void (*resolve)(const AddressOf& address_of, Options& options) = nullptr;
  // Appends the flags that a child of `up` needs in addition to the configuration file.
  void (*child_flags)(const StackConfig& config, const Options& options, Flags& flags) = nullptr;
  // Sets the day of a replay, as days since 2000-01-01. Null if the process has no day.
  void (*set_date)(int32_t day, Options& options) = nullptr;
  // Returns the metrics of the process at /metrics, without those that every process has.
  std::span<const serve::Metric> (*metrics)();
};

// One process of a configuration, whatever the type of its options. Refers to the configuration:
// valid until processes are added or removed there.
class StackProcess {
 public:
  virtual ~StackProcess() = default;
  virtual std::string& name() const = 0;
  virtual wire::ListenerOptions& listener() const = 0;
  virtual std::function<void()> AddFlags(CLI::App& command, StackConfig& config) const = 0;
  virtual int Run(const StackConfig& config) const = 0;
  virtual void Resolve(const AddressOf& address_of) const = 0;
  virtual Flags ChildFlags(const StackConfig& config) const = 0;
  virtual void SetDate(int32_t day) const = 0;
  virtual void SetData(const std::string& data) const = 0;
  // Returns the settings that a running process can take.
  virtual serve::LiveSettings Live() const = 0;
};

// The options of a kind with one section in the file. A stack has one such process or none, or one
// for each shard. Without shards it is used like a std::optional.
template <typename Options>
struct OnePerShard {
  using value_type = Options;
  std::vector<Options> all;

  bool has_value() const { return !all.empty(); }
  explicit operator bool() const { return has_value(); }
  // The process of the first shard.
  Options& operator*() { return all.front(); }
  const Options& operator*() const { return all.front(); }
  Options* operator->() { return &all.front(); }
  const Options* operator->() const { return &all.front(); }
};

// The order in which processes stop: first new rows end, then the last sample, the last bars, the
// publication of staged rows, that of chained tickerplants, and finally their readers.
enum class StopRank { kFeed, kMonitor, kGateway, kAggEngine, kTickerplant, kChained, kRdb, kHdb };

// A row of the table.
struct ProcessKind {
  std::string_view role;  // The subcommand, the section in stack.toml, and the folder.
  std::string_view help;
  int default_port;  // 0: the kernel chooses.
  StopRank stop_rank;
  bool may_end;  // True if `up` does not restart it after it has ended with exit code 0.

  std::span<const serve::Metric> (*metrics)();

  bool several;    // [[role]]: a stack may have several.
  bool per_shard;  // Each shard has its own (cli/shard_config.h).
  // Appends the process of one section.
  absl::Status (*read)(const ProcessKind& kind, const ConfigTable& root, const ConfigTable& section,
                       StackConfig& config);
  void (*add_default)(const ProcessKind& kind, StackConfig& config);
  // Removes all processes of this kind except the one of that name, or the first if there is no
  // name. False if there is no such process.
  bool (*keep_one)(StackConfig& config, const std::optional<std::string>& name);
  std::vector<std::unique_ptr<StackProcess>> (*find)(StackConfig& config);
};

// Reads `name`, which becomes part of file names.
absl::Status ReadName(const ConfigTable& section, std::string* name);

namespace internal {

template <typename Options>
class StackProcessOf final : public StackProcess {
 public:
  StackProcessOf(const ProcessHooks<Options>& hooks, Options& options)
      : hooks_(hooks), options_(options) {}

  std::string& name() const override { return options_.name; }
  wire::ListenerOptions& listener() const override { return options_.listener; }
  std::function<void()> AddFlags(CLI::App& command, StackConfig& config) const override {
    return hooks_.add_flags(command, config, options_);
  }
  int Run(const StackConfig& config) const override { return hooks_.run(config, options_); }
  void Resolve(const AddressOf& address_of) const override {
    if (hooks_.resolve != nullptr) hooks_.resolve(address_of, options_);
  }
  Flags ChildFlags(const StackConfig& config) const override {
    Flags flags;
    if (hooks_.child_flags != nullptr) hooks_.child_flags(config, options_, flags);
    return flags;
  }
  void SetDate(int32_t day) const override {
    if (hooks_.set_date != nullptr) hooks_.set_date(day, options_);
  }
  void SetData(const std::string& data) const override {
    if constexpr (requires { options_.data = data; }) options_.data = data;
  }
  serve::LiveSettings Live() const override {
    serve::LiveSettings live{.health = options_.health};
    if constexpr (requires { options_.query_slow_ms; }) {
      live.query_timeout_ns = static_cast<int64_t>(options_.query_timeout_s * 1e9);
      live.query_slow_ns = static_cast<int64_t>(options_.query_slow_ms * 1e6);
    }
    return live;
  }

 private:
  const ProcessHooks<Options>& hooks_;
  Options& options_;
};

// The functions of a kind whose options are a member of StackConfig: an optional, or a vector.
template <auto kMember, const auto& kHooks>
struct KindOf {
  using Held = std::remove_cvref_t<decltype(std::declval<StackConfig&>().*kMember)>;
  using Options = typename Held::value_type;
  static constexpr bool kSeveral = requires(Held held) { held.push_back(Options()); };
  static constexpr bool kPerShard = requires(Held held) { held.all; };

  static void Add(StackConfig& config, Options options) {
    if constexpr (kPerShard) {
      (config.*kMember).all.push_back(std::move(options));
    } else if constexpr (kSeveral) {
      (config.*kMember).push_back(std::move(options));
    } else {
      config.*kMember = std::move(options);
    }
  }

  static absl::Status Read(const ProcessKind& kind, const ConfigTable& root,
                           const ConfigTable& section, StackConfig& config) {
    Options options;
    options.listener.port = kind.default_port;
    TS_RETURN_IF_ERROR(ReadName(section, &options.name));
    TS_RETURN_IF_ERROR(ReadListener(section, options.listener));
    TS_RETURN_IF_ERROR(ReadHealth(root, options.health));
    TS_RETURN_IF_ERROR(kHooks.read(root, section, config, options));
    Add(config, std::move(options));
    return absl::OkStatus();
  }

  // The hooks are defined elsewhere, so their members are no constants here.
  static std::span<const serve::Metric> Metrics() { return kHooks.metrics(); }

  static void AddDefault(const ProcessKind& kind, StackConfig& config) {
    Options options;
    options.listener.port = kind.default_port;
    Add(config, std::move(options));
  }

  static std::vector<Options*> All(StackConfig& config) {
    std::vector<Options*> all;
    if constexpr (kPerShard) {
      for (Options& options : (config.*kMember).all) all.push_back(&options);
    } else if constexpr (kSeveral) {
      for (Options& options : config.*kMember) all.push_back(&options);
    } else if ((config.*kMember).has_value()) {
      all.push_back(&*(config.*kMember));
    }
    return all;
  }

  static bool KeepOne(StackConfig& config, const std::optional<std::string>& name) {
    for (Options* const options : All(config)) {
      if (kSeveral && name && options->name != *name) continue;
      // Without shards, --name may give the only one another name.
      if (kPerShard && All(config).size() > 1 && name && options->name != *name) continue;
      Options one = std::move(*options);
      config.*kMember = Held();
      Add(config, std::move(one));
      return true;
    }
    return false;
  }

  static std::vector<std::unique_ptr<StackProcess>> Find(StackConfig& config) {
    std::vector<std::unique_ptr<StackProcess>> found;
    for (Options* const options : All(config)) {
      found.push_back(std::make_unique<StackProcessOf<Options>>(kHooks, *options));
    }
    return found;
  }
};

}  // namespace internal

// A row: `kMember` holds the options in StackConfig.
template <auto kMember, const auto& kHooks>
constexpr ProcessKind Row(std::string_view role, std::string_view help, int default_port,
                          StopRank stop_rank, bool may_end = false, bool per_shard = false) {
  using Kind = internal::KindOf<kMember, kHooks>;
  return {.role = role,
          .help = help,
          .default_port = default_port,
          .stop_rank = stop_rank,
          .may_end = may_end,
          .metrics = Kind::Metrics,
          .several = Kind::kSeveral,
          .per_shard = per_shard || Kind::kPerShard,
          .read = Kind::Read,
          .add_default = Kind::AddDefault,
          .keep_one = Kind::KeepOne,
          .find = Kind::Find};
}

// A row of a kind that runs another kind's program.
template <auto kMember, const auto& kHooks>
constexpr ProcessKind Variant(std::string_view role, std::string_view help, int default_port,
                              StopRank stop_rank) {
  return Row<kMember, kHooks>(role, help, default_port, stop_rank, /*may_end=*/false,
                              /*per_shard=*/true);
}

}  // namespace tickstack::cli
