#pragma once

// For tests of decoders of websocket messages: recordings that are written line by line, and their
// events as texts.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "feed/market/event_testing.h"
#include "feed/market/websocket/websocket_recording.h"

namespace tickstack::feed::market {

class WebsocketTest : public testing::Test {
 protected:
  WebsocketTest()
      : folder_(std::filesystem::temp_directory_path() /
                fmt::format("tickstack_websocket_{}_{}", getpid(),
                            testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::create_directory(folder_);
  }
  ~WebsocketTest() override { std::filesystem::remove_all(folder_); }

  // Writes a file, and returns its path.
  std::string Write(const std::string& name, std::string_view bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }

  // Returns the events of messages that were received at 1, 2, ... ns of 2000 in a file `a`. One
  // that begins with an address is a line of its own.
  std::vector<std::string> ReadTexts(const std::string& venue,
                                     const std::vector<std::string>& messages) {
    std::string lines;
    int64_t number = 0;
    for (const std::string& message : messages) {
      ++number;
      lines += message.starts_with("http") || message.starts_with("wss")
                   ? message + "\n"
                   : fmt::format("{} {}\n", kFirstUnixNs + number, message);
    }
    return Read(venue, {Write("a", lines)});
  }

  std::vector<std::string> Read(const std::string& venue, std::vector<std::string> paths) {
    EventTexts events;
    auto recording = WebsocketRecording::Open(std::move(paths), venue);
    status_ = recording.status();
    if (!recording.ok()) return {};
    while (true) {
      const absl::StatusOr<bool> more = (*recording)->Advance();
      status_ = more.status();
      if (!more.ok() || !*more) break;
      status_ = (*recording)->Decode(events);
      if (!status_.ok()) break;
    }
    counts_ = (*recording)->counts();
    return events.texts;
  }

  // Returns the content of a file as one line.
  static std::string OneLine(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::string text(std::istreambuf_iterator<char>(file), {});
    std::ranges::replace(text, '\n', ' ');
    return text;
  }

  int64_t Named(std::string_view name) const {
    const auto found = counts_.named.find(name);
    return found == counts_.named.end() ? 0 : found->second;
  }

  static constexpr int64_t kFirstUnixNs = 946'684'800'000'000'000;

  std::filesystem::path folder_;
  absl::Status status_;
  MessageCounts counts_;
};

}  // namespace tickstack::feed::market
