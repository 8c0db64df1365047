#pragma once

// The file NAME.topic beside a log: from which record of the topic the log can be continued.
//
// It is written now and then, and not synced. After a power cut the log may end before the place
// that it says; then the day is read again from its beginning, which the file says, too. Without
// the file the topic is read from its oldest record: records whose blocks the log has are compared.
//
// Threads: one owner.

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tickerplant/topic/topic_state.h"

namespace tickstack::tickerplant {

struct TopicMark {
  std::string topic;     // RecordTopic's identity.
  TopicState::Mark now;  // After what the log had when this was written.
};

// nullopt: there is no such file, or it is not a whole mark. Errors: those of reading.
absl::StatusOr<std::optional<TopicMark>> ReadTopicMark(const std::string& path);
// Replaces the file. Errors: those of writing.
absl::Status WriteTopicMark(const std::string& path, const TopicMark& mark);

}  // namespace tickstack::tickerplant
