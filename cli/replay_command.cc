#include "cli/replay_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/human_text.h"
#include "base/status.h"
#include "feed/live/packet_replay.h"

namespace tickstack::cli {
namespace {

using feed::live::ReplayCounts;
using feed::live::ReplayLine;

absl::StatusOr<feed::live::ReplaySettings> ReplaySettingsOf(const ReplayCommandOptions& options) {
  feed::live::ReplaySettings settings;
  settings.path = options.file;
  settings.lines = options.lines;
  settings.speed = options.speed;
  settings.sender = {.ttl = options.ttl, .loopback = options.loopback};
  for (const std::string& text : options.to) {
    const absl::StatusOr<feed::live::UdpLine> line =
        feed::live::ParseUdpLine(text, options.interface);
    if (!line.ok()) return Annotate(line.status(), "--to");
    settings.to.push_back(*line);
  }
  return settings;
}

void PrintProgress(const ReplayCounts& counts) {
  fmt::print(stderr, "{} datagrams sent, {} of the recording\n", Thousands(counts.sent),
             NsText(counts.recorded_ns));
}

void PrintJson(const ReplayCounts& counts) {
  nlohmann::ordered_json lines = nlohmann::ordered_json::array();
  for (const ReplayLine& line : counts.lines) {
    lines.push_back({{"from", line.from},
                     {"to", line.to},
                     {"datagrams", line.datagrams},
                     {"bytes", line.bytes}});
  }
  const nlohmann::ordered_json all = {{"packets", counts.packets},
                                      {"sent", counts.sent},
                                      {"other", counts.other},
                                      {"cut_off", counts.cut_off},
                                      {"recorded_ns", counts.recorded_ns},
                                      {"took_ns", counts.took_ns},
                                      {"late_ns_max", counts.late_ns_max},
                                      {"lines", std::move(lines)}};
  fmt::print("{}\n", all.dump());
}

void PrintText(const ReplayCounts& counts) {
  fmt::print("{} of {} packets sent in {}, {} of the recording; at most {} late\n",
             Thousands(counts.sent), Thousands(counts.packets), NsText(counts.took_ns),
             NsText(counts.recorded_ns), NsText(counts.late_ns_max));
  for (const ReplayLine& line : counts.lines) {
    fmt::print("{} -> {}: {} datagrams, {} bytes\n", line.from,
               line.to.empty() ? "not sent" : line.to, Thousands(line.datagrams),
               Thousands(line.bytes));
  }
  if (counts.other > 0) fmt::print("{} packets are not UDP\n", Thousands(counts.other));
  if (counts.cut_off > 0) {
    fmt::print("{} datagrams are in the capture in part only, and were not sent\n",
               Thousands(counts.cut_off));
  }
}

}  // namespace

int RunReplay(const ReplayCommandOptions& options) {
  absl::Status status;
  absl::StatusOr<feed::live::ReplaySettings> settings = ReplaySettingsOf(options);
  status.Update(settings.status());
  if (settings.ok()) {
    const auto replay = feed::live::PacketReplay::Open(*std::move(settings));
    status.Update(replay.status());
    if (replay.ok()) {
      status.Update((*replay)->Run(PrintProgress));
      options.json ? PrintJson((*replay)->counts()) : PrintText((*replay)->counts());
    }
  }
  if (status.ok()) return 0;
  std::fflush(stdout);
  fmt::print(stderr, "{}\n", Message(status));
  return 1;
}

void AddReplayCommand(CLI::App& app, ReplayCommandOptions& options, Action& action) {
  CLI::App& command = *app.add_subcommand(
      "replay", "Send the UDP datagrams of a capture to multicast groups, as the exchange did");
  command.add_option("file", options.file, "Capture (pcap or pcapng), plain or compressed")
      ->required();
  command
      .add_option("--to", options.to,
                  "Destination GROUP:PORT, or GROUP:PORT@INTERFACE; may be repeated. One gets all "
                  "datagrams, several get those of one destination of the capture each")
      ->required()
      ->allow_extra_args(false);
  command
      .add_option("--line", options.lines,
                  "Destination ADDRESS:PORT of the capture; others are not sent. May be repeated, "
                  "then in the order of --to (default: all, as they appear)")
      ->allow_extra_args(false);
  command.add_option("--interface", options.interface,
                     "Interface to send on, such as eth1 (default: by the kernel's routes)");
  command
      .add_option("--speed", options.speed,
                  "Speed relative to the recording (0: as fast as possible)")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      .add_option("--ttl", options.ttl,
                  "Routers that multicast packets may pass, plus 1; 0: this machine only")
      ->check(CLI::Range(0, 255))
      ->capture_default_str();
  command.add_flag("!--no-loopback", options.loopback,
                   "Do not deliver to receivers on this machine");
  command.add_flag("--json", options.json, "Print the counts as one JSON object");
  command.callback([&] { action = [&] { return RunReplay(options); }; });
}

}  // namespace tickstack::cli
