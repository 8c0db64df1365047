#include "loadtest/profile.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "base/config.h"
#include "base/status.h"

namespace tickstack::loadtest {
namespace {

constexpr double kSecondsMax = 86'400;
constexpr double kProfileRateMax = 1e8;

Profile March2020Volume() {
  Profile profile;
  profile.name = "march2020-volume";
  profile.rate = 95e6 / 1'800;
  profile.quotes_per_trade = 5;
  return profile;
}

Profile Bursts() {
  Profile profile;
  profile.name = "bursts";
  profile.phases = {{0.9, 40'000}, {0.1, 120'000}};
  return profile;
}

std::vector<Profile> BuiltIn() { return {Profile(), March2020Volume(), Bursts()}; }

absl::Status ReadPositive(const ConfigTable& table, std::string_view key, double most,
                          double* target) {
  TS_RETURN_IF_ERROR(table.Read(key, target));
  if (*target > 0 && *target <= most) return absl::OkStatus();
  return table.ErrorAt(
      key, fmt::format("expected a number above 0 and up to {}, found {}", most, *target));
}

absl::StatusOr<Profile> ReadProfile(const Config& file, std::string_view default_name) {
  const ConfigTable& root = file.root();
  Profile profile;
  profile.name = default_name;
  TS_RETURN_IF_ERROR(root.Read("name", &profile.name));
  TS_RETURN_IF_ERROR(ReadPositive(root, "rate", kProfileRateMax, &profile.rate));
  TS_RETURN_IF_ERROR(ReadPositive(root, "seconds", kSecondsMax, &profile.seconds));
  TS_RETURN_IF_ERROR(root.Read("symbols", &profile.symbols, int64_t{1}, int64_t{65'536}));
  TS_RETURN_IF_ERROR(
      root.Read("quotes_per_trade", &profile.quotes_per_trade, int64_t{1}, int64_t{1'000}));
  TS_RETURN_IF_ERROR(root.Read("seed", &profile.seed));
  TS_ASSIGN_OR_RETURN(const std::vector<ConfigTable> phases, root.Tables("phase"));
  for (const ConfigTable& table : phases) {
    feed::PacePhase& phase = profile.phases.emplace_back();
    TS_RETURN_IF_ERROR(table.Read("seconds", &phase.seconds));
    TS_RETURN_IF_ERROR(table.Read("rate", &phase.rate));
  }
  TS_RETURN_IF_ERROR(file.CheckUnusedKeys());
  if (phases.empty()) return profile;
  if (root.Has("rate")) return root.ErrorAt("rate", "expected either this or [[phase]]");
  const absl::StatusOr<feed::Pace> pace = feed::Pace::Create(profile.phases);
  if (!pace.ok()) return root.ErrorAt("phase", Message(pace.status()));
  return profile;
}

}  // namespace

double Profile::UpdatesPerSecond() const {
  if (phases.empty()) return rate;
  double updates = 0, at = 0;
  for (size_t i = 0; at < seconds; i = (i + 1) % phases.size()) {
    const double length = std::min(phases[i].seconds, seconds - at);
    updates += length * phases[i].rate;
    at += phases[i].seconds;
  }
  return updates / seconds;
}

void Profile::SetUpdatesPerSecond(double updates_per_s) {
  const double factor = updates_per_s / UpdatesPerSecond();
  for (feed::PacePhase& phase : phases) phase.rate *= factor;
  rate = updates_per_s;
}

absl::StatusOr<Profile> ParseProfile(std::string_view text, std::string_view file_name) {
  TS_ASSIGN_OR_RETURN(const Config file, Config::Parse(text, file_name));
  return ReadProfile(file, std::filesystem::path(file_name).stem().string());
}

absl::StatusOr<Profile> LoadProfile(const std::string& name_or_file) {
  std::string names;
  for (const Profile& profile : BuiltIn()) {
    if (profile.name == name_or_file) return profile;
    names += profile.name + ", ";
  }
  if (!name_or_file.ends_with(".toml")) {
    return NotFound("profile {}: expected {}or a file such as busy.toml", name_or_file, names);
  }
  TS_ASSIGN_OR_RETURN(const Config file, Config::Load(name_or_file));
  return ReadProfile(file, std::filesystem::path(name_or_file).stem().string());
}

}  // namespace tickstack::loadtest
