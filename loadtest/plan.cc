#include "loadtest/plan.h"

#include <sys/stat.h>
#include <sys/statfs.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "base/human_text.h"
#include "base/machine.h"
#include "base/status.h"
#include "loadtest/report/paper.h"
#include "loadtest/stack_toml.h"
#include "mem/numa.h"

namespace tickstack::loadtest {
namespace {

static_assert(kPaperQuotes == report::kPaperRdbQuotes && kPaperTrades == report::kPaperRdbTrades);

// Measured with the day of bench/table_bench: columns take 46 and 27 bytes; the rest is the index
// and the rounding of chunks.
constexpr double kQuoteBytes = 64;
constexpr double kTradeBytes = 44;
constexpr double kLogBytesPerUpdate = 56;
// What an rdb needs besides its rows: program, query scratch, bars of some thousand symbols.
constexpr uint64_t kRdbBytes = uint64_t{192} << 20;
constexpr double kShareOfFree = 0.75;
constexpr uint64_t kTmpfsMagic = 0x01021994;

uint64_t BytesOf(double quotes, double trades) {
  return static_cast<uint64_t>(quotes * kQuoteBytes + trades * kTradeBytes);
}

struct Demand {
  int rdbs = 0;
  uint64_t fixed_bytes = 0;  // Logs, rows of the run, and the rdbs themselves.
};

// Returns the demands that do not depend on the prestress.
std::map<std::string, Demand> DemandsOf(const PlanInput& input) {
  std::map<std::string, Demand> demands;
  for (const PlanInput::Stack& stack : input.stacks) {
    for (const std::string& place : stack.rows) {
      Demand& demand = demands[place];
      demand.rdbs += stack.rdbs;
      demand.fixed_bytes +=
          static_cast<uint64_t>(stack.rdbs) * (BytesOfRows(RowsOfRun(input.profile)) + kRdbBytes);
    }
    for (const std::string& place : input.logs) {
      demands[place].fixed_bytes += BytesOfLog(input.profile);
    }
  }
  return demands;
}

absl::Status TooLarge(const std::string& place, uint64_t needed, uint64_t usable, uint64_t free) {
  return ResourceExhausted("{}: {} are needed, {} of the {} that are free may be used", place,
                           BytesText(needed), BytesText(usable), BytesText(free));
}

// Returns as many rows as fit into `bytes`, in the paper's ratio, but at most the paper's numbers.
RowCounts RowsIn(double bytes) {
  const double whole = static_cast<double>(BytesOfRows({kPaperQuotes, kPaperTrades}));
  const double share = std::clamp(bytes / whole, 0.0, 1.0);
  const auto rounded = [share](int64_t rows) {
    const double exact = share * static_cast<double>(rows);
    if (share == 1 || exact < 1'000) return share == 1 ? rows : int64_t{0};
    // Two digits are enough, and they give the next run on this machine the same number.
    const double unit = std::pow(10, std::floor(std::log10(exact)) - 1);
    return static_cast<int64_t>(std::floor(exact / unit) * unit);
  };
  return {rounded(kPaperQuotes), rounded(kPaperTrades)};
}

// Names each file system by the first path on it.
class FileSystems {
 public:
  // Adds the place of a path and its free space; for a tmpfs, which is memory, both places.
  absl::Status Add(const std::string& path, FreeSpace& free, Places& places) {
    struct statfs facts = {};
    struct stat status = {};
    if (::statfs(path.c_str(), &facts) != 0 || ::stat(path.c_str(), &status) != 0) {
      return Annotate(ErrnoStatus(errno, "stat"), path);
    }
    const std::string& place =
        names_.try_emplace(status.st_dev, fmt::format("the file system of {}", path)).first->second;
    free.bytes[place] = facts.f_bavail * static_cast<uint64_t>(facts.f_bsize);
    places.push_back(place);
    if (static_cast<uint64_t>(facts.f_type) == kTmpfsMagic) places.emplace_back("memory");
    return absl::OkStatus();
  }

 private:
  std::map<dev_t, std::string> names_;
};

}  // namespace

RowCounts RowsOfRun(const Profile& profile) {
  const double updates = profile.UpdatesPerSecond() * profile.seconds;
  const double trades = updates / static_cast<double>(profile.quotes_per_trade + 1);
  return {std::llround(updates - trades), std::llround(trades)};
}

uint64_t BytesOfRows(const RowCounts& rows) {
  return BytesOf(static_cast<double>(rows.quotes), static_cast<double>(rows.trades));
}

uint64_t TierBytes(const RowCounts& prestress, const Profile& profile) {
  constexpr uint64_t kPage = uint64_t{2} << 20;
  const uint64_t rows = BytesOfRows(prestress) + BytesOfRows(RowsOfRun(profile));
  return (rows + kRdbBytes) / kPage * kPage;
}

uint64_t BytesOfLog(const Profile& profile) {
  return static_cast<uint64_t>(profile.UpdatesPerSecond() * profile.seconds * kLogBytesPerUpdate);
}

absl::StatusOr<Plan> PlanPrestress(const PlanInput& input) {
  const std::map<std::string, Demand> demands = DemandsOf(input);
  Plan plan;
  double bytes = static_cast<double>(BytesOfRows({kPaperQuotes, kPaperTrades}));
  std::string tightest;
  const auto bound = [&](double room, const std::string& place) {
    if (room >= bytes) return;
    bytes = room;
    tightest = place;
  };
  for (const auto& [place, demand] : demands) {
    const uint64_t free = input.free.bytes.at(place);
    const auto usable = static_cast<uint64_t>(kShareOfFree * static_cast<double>(free));
    if (demand.fixed_bytes > usable) {
      return TooLarge(place, demand.fixed_bytes, usable, free);
    }
    if (demand.rdbs > 0) {
      bound(static_cast<double>(usable - demand.fixed_bytes) / demand.rdbs, place);
    }
    plan.explanation += fmt::format("  {}: {} free", place, BytesText(free));
    plan.explanation +=
        demand.rdbs == 0
            ? fmt::format("; the logs of this run need {}\n", BytesText(demand.fixed_bytes))
            : fmt::format("; three quarters of that, less {} for this run, for {} rdb{}\n",
                          BytesText(demand.fixed_bytes), demand.rdbs, demand.rdbs == 1 ? "" : "s");
  }
  for (const PlanInput::Stack& stack : input.stacks) {
    if (stack.tier_bytes == 0) continue;
    const uint64_t run = BytesOfRows(RowsOfRun(input.profile));
    if (run > stack.tier_bytes) {
      return TooLarge("a tier of a stack's file", run, stack.tier_bytes, stack.tier_bytes);
    }
    bound(static_cast<double>(stack.tier_bytes - run) * kShareOfFree, "a tier of a stack's file");
  }
  plan.prestress = RowsIn(bytes);
  if (input.quotes || input.trades) {
    plan.prestress.quotes = input.quotes.value_or(0);
    plan.prestress.trades = input.trades.value_or(0);
    const uint64_t wanted = BytesOfRows(plan.prestress);
    if (static_cast<double>(wanted) > bytes) {
      return ResourceExhausted(
          "prestress of {} quotes and {} trades: {} an rdb, {} has room for {} (what would fit: "
          "{} and {})",
          Thousands(plan.prestress.quotes), Thousands(plan.prestress.trades), BytesText(wanted),
          tightest, BytesText(static_cast<uint64_t>(bytes)), Thousands(RowsIn(bytes).quotes),
          Thousands(RowsIn(bytes).trades));
    }
    tightest = "asked for";
  }
  plan.explanation = fmt::format("prestress of each rdb: {} quotes and {} trades, {} ({})\n{}",
                                 Thousands(plan.prestress.quotes), Thousands(plan.prestress.trades),
                                 BytesText(BytesOfRows(plan.prestress)),
                                 tightest.empty()          ? "as the paper's"
                                 : tightest == "asked for" ? "as asked for"
                                                           : "what fits " + tightest,
                                 plan.explanation);
  return plan;
}

absl::StatusOr<PlanInput> ReadMachine(const Profile& profile, const std::vector<StackSpec>& stacks,
                                      const std::string& work) {
  PlanInput input;
  input.profile = profile;
  input.free.bytes["memory"] = ThisMachine().available_bytes;
  FileSystems file_systems;
  for (const StackSpec& spec : stacks) {
    PlanInput::Stack& stack = input.stacks.emplace_back();
    stack.rdbs = spec.placement.rdbs;
    switch (spec.placement.kind) {
      case Placement::Kind::kDram:
        stack.rows = {"memory"};
        break;
      case Placement::Kind::kFilesystem:
      case Placement::Kind::kPersistent:
      case Placement::Kind::kSimulate:
        TS_RETURN_IF_ERROR(file_systems.Add(spec.placement.path, input.free, stack.rows));
        break;
      case Placement::Kind::kNuma: {
        TS_RETURN_IF_ERROR(mem::CheckNodes({spec.placement.node}));
        const std::string place = mem::NodesText({spec.placement.node});
        input.free.bytes[place] = mem::FreeBytesOf({spec.placement.node});
        stack.rows = {place};
        break;
      }
      case Placement::Kind::kHybrid:
      case Placement::Kind::kFile: {
        TS_ASSIGN_OR_RETURN(const StackFile file, ReadStackFile(spec.placement.path));
        if (spec.placement.kind == Placement::Kind::kFile) stack.rdbs = file.rdbs;
        stack.tier_bytes = file.smallest_tier_bytes;
        stack.rows = {"memory"};
        break;
      }
    }
  }
  TS_RETURN_IF_ERROR(file_systems.Add(work, input.free, input.logs));
  return input;
}

}  // namespace tickstack::loadtest
