#include "tests/simulate/exchange_feed.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/logging.h"
#include "base/status.h"
#include "feed/market/itch/itch_capture.h"
#include "feed/sources/itch_source.h"
#include "feed/sources/live_source.h"
#include "tests/simulate/trouble.h"

namespace tickstack::simulate {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSecond = kNsPerSecond;
constexpr int64_t kDownNsMax = 8 * kSecond;
constexpr int64_t kFullNsMax = 3 * kSecond;
// After the last message, everything is logged or known to be missing.
constexpr int64_t kQuietNs = 5 * kSecond;

Host& AddMachine(World& world, const std::string& root) {
  std::filesystem::create_directory(root);
  return world.AddMachine(world.machine().folder, root);
}

}  // namespace

ExchangeFeed::ExchangeFeed(World& world, const StackOptions& options, const std::string& root)
    : world_(world),
      random_(world.random()),
      options_(options),
      machine_(AddMachine(world, root)),
      spool_(root + "/rows"),
      wait_ms_(OneOf<int64_t>(random_, {100, 1000})),
      keep_mib_(OneOf<int64_t>(random_, {1, 256, 256, 256})),
      batch_rows_(OneOf<int64_t>(random_, {1, 10, 1000})),
      exchange_(world, wait_ms_ * kMs) {
  const auto draw = [this](uint64_t one_in, const std::vector<Trouble>& kinds) {
    if (!random_.OneIn(one_in)) return false;
    troubles_.insert(troubles_.end(), kinds.begin(), kinds.end());
    return true;
  };
  draw(2, {Trouble::kDeath, Trouble::kDownTime, Trouble::kDeathInAChange});
  draw(5, {Trouble::kPowerCut, Trouble::kPowerCutInAChange});
  draw(4, {Trouble::kFullDisk, Trouble::kWriteError});
  draw(3, {Trouble::kStall});
  has_clocks_ = draw(4, {Trouble::kSetClock});
  process_ =
      &world_.Add("live feed", &machine_, [this](Process& process) { return Start(process); });
}

// As feed_main.cc does, but for the receiver.
absl::StatusOr<std::unique_ptr<Program>> ExchangeFeed::Start(Process& process) {
  feed::ItchOptions itch;
  itch.folder = spool_;
  itch.batch_rows = batch_rows_;
  itch.live.lines = {"line 0", "line 1"};
  itch.live.keep_mib = keep_mib_;
  TS_ASSIGN_OR_RETURN(feed::market::ExchangeDays days, feed::market::ExchangeDays::Create("UTC"));
  feed::LiveSetup setup = {
      feed::market::ItchCapture::Live(std::nullopt, days, {.wait_ns = wait_ns()}),
      feed::MarketRows(itch.venue, ExchangeTables()), "itch", exchange_.MakeReceiver(process)};
  TS_ASSIGN_OR_RETURN(std::unique_ptr<feed::Source> source,
                      feed::LiveSource::Create(std::move(setup), itch));
  const feed::FeedSettings settings = {
      .name = feed::NumberedName("exchange", itch, source->RowsId()),
      .instance = fmt::format("exchange.{}", process.starts()),
      .take_over = true};
  auto program = std::make_unique<FeedProgram>();
  program->service = std::make_unique<feed::FeedService>(
      process.loop(), options_.tickerplant,
      std::make_unique<feed::Feed>(settings, std::move(source)));
  program->service->Start();
  return program;
}

const FeedProgram* ExchangeFeed::program() const {
  return static_cast<const FeedProgram*>(process_->program());
}

// ---- trouble

void ExchangeFeed::PlanDay(int64_t roll_ns, bool is_last) {
  exchange_.PlanDay(roll_ns, is_last);
  for (int64_t n = troubles_.empty() ? 0 : random_.Between(0, 6); n > 0; --n) {
    const int64_t at_ns = roll_ns + random_.Between(-kBefore + kSecond, kAfter - kSecond);
    world_.At(world_.MonotonicNs() + at_ns - world_.NowNs(),
              [this, trouble = OneOf(random_, troubles_), called_off = times_called_off_] {
                if (called_off == times_called_off_) Begin(trouble);
              });
  }
}

void ExchangeFeed::CallOffTrouble() {
  ++times_called_off_;
  machine_.disk.CallOffErrors();
  machine_.clock.set_ahead_ns(0);
  exchange_.CallOffLosses();
}

void ExchangeFeed::Begin(Trouble trouble) {
  const auto soon = [this](bool is_power_cut) {
    return Death{Death::In::kChange, static_cast<int64_t>(random_.Below(20)), is_power_cut};
  };
  switch (trouble) {
    case Trouble::kDeath:
      return world_.Kill(*process_);
    case Trouble::kDownTime:
      return world_.KeepDown(*process_, random_.Between(kMs, kDownNsMax));
    case Trouble::kDeathInAChange:
      return world_.DieIn(*process_, soon(false));
    case Trouble::kPowerCut:
      return world_.CutPower(machine_);
    case Trouble::kPowerCutInAChange:
      return world_.DieIn(*process_, soon(true));
    case Trouble::kFullDisk:
      machine_.disk.set_full(true);
      return world_.At(world_.MonotonicNs() + random_.Between(kMs, kFullNsMax),
                       [this] { machine_.disk.set_full(false); });
    case Trouble::kWriteError:
      return machine_.disk.FailCall(Disk::Call::kWrite, nullptr, random_.Below(20));
    case Trouble::kStall:
      return world_.Stall(*process_, random_.Between(kMs, kStallNsMax));
    case Trouble::kSetClock:
      return SetClock();
  }
}

// In half of the cases, packets wait for the feed while its clock is set.
void ExchangeFeed::SetClock() {
  const auto most_ns = OneOf<int64_t>(random_, {kSecond, 60 * kSecond, 6 * 3600 * kSecond});
  const int64_t ahead_ns = random_.OneIn(3) ? 0 : random_.Between(-most_ns, most_ns);
  LogInfo("simulated clock of the live feed ahead_ms={}", ahead_ns / kMs);
  if (random_.OneIn(2)) {
    machine_.clock.set_ahead_ns(ahead_ns);
    return;
  }
  world_.Stall(*process_, kSecond);
  world_.At(world_.MonotonicNs() + kSecond / 2, [this, ahead_ns, called_off = times_called_off_] {
    if (called_off == times_called_off_) machine_.clock.set_ahead_ns(ahead_ns);
  });
}

void ExchangeFeed::OnPowerCut(const Host& machine) {
  if (&machine != &machine_) return;
  may_refuse_ = lost_power_ = true;
  CheckBeginning();
}

void ExchangeFeed::OnRowsLost() {
  may_refuse_ = lost_rows_ = true;
  CheckBeginning();
}

// A power cut may take the spool's rows and positions. If the log has no rows under the feed's name
// either, because it lost them or the name is new, nothing disagrees.
void ExchangeFeed::CheckBeginning() {
  if (lost_power_ && (lost_rows_ || !beginnings_.empty())) {
    beginnings_.push_back(exchange_.joins().size());
  }
}

// ---- the operator

// A feed that has failed is started again.
void ExchangeFeed::Watch() {
  if (program() != nullptr) {
    const feed::Feed& feed = program()->service->feed();
    if (!feed.finished() || process_->is_dead() || std::exchange(has_ended_, true)) return;
    if (absl::IsDataLoss(feed.error())) refused_ = feed.error();
    return process_->Exit();
  }
  has_ended_ = false;
  if (refused_starts_ != process_->starts() && absl::IsDataLoss(process_->start_error())) {
    refused_ = process_->start_error();
  }
  refused_starts_ = process_->starts();
  if (!refused_.ok()) RemoveSpool(std::exchange(refused_, absl::OkStatus()));
}

void ExchangeFeed::RemoveSpool(const absl::Status& why) {
  LogInfo("simulated operator removes the rows of the live feed error=\"{}\"", Message(why));
  if (!may_refuse_ && problem_.empty()) {
    problem_ = fmt::format("the live feed refuses its rows: {}", Message(why));
  }
  beginnings_.push_back(exchange_.joins().size());
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(spool_)) {
    files.push_back(entry.path());
  }
  for (const std::string& file : files) ::unlink(file.c_str());
}

std::string ExchangeFeed::WhatIsMissing() const {
  if (program() == nullptr) return "the live feed does not run";
  const feed::Feed& feed = program()->service->feed();
  if (feed.state() != feed::FeedState::kPublishing) {
    return fmt::format("the live feed is {}: {}", feed::NameOf(feed.state()),
                       feed.error().ToString());
  }
  // `rows_logged` has all tables of the tickerplant.
  const bool all_logged = std::ranges::all_of(feed.rows_sent(), [&feed](const auto& sent) {
    const auto logged = feed.rows_logged().find(sent.first);
    return logged != feed.rows_logged().end() && logged->second == sent.second;
  });
  if (feed.source().next_due_ns() != feed::kNotDueYet || !all_logged) {
    return "rows of the live feed are not logged";
  }
  if (exchange_.joins().empty()) return "the live feed has not joined";
  const int64_t since_ns = std::max(exchange_.last_sent_ns(), exchange_.joins().back().begin_ns);
  return world_.MonotonicNs() < since_ns + kQuietNs ? "the exchange is not quiet" : "";
}

}  // namespace tickstack::simulate
