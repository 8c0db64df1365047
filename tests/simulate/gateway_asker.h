#pragma once

// A client of a gateway that asks one question after the other, as long as it lives.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "table/value.h"
#include "tests/simulate/world.h"

namespace tickstack::simulate {

// Whoever decides what an asker asks, and takes the answers.
class QuestionSource {
 public:
  virtual ~QuestionSource() = default;
  // Returns the text of the next question, which has the number `*number` from now on.
  virtual std::string Ask(const Process& asker, size_t* number) = 0;
  virtual void OnAnswer(size_t number, const absl::StatusOr<Value>& answer) = 0;
  virtual void OnLost(size_t number) = 0;  // The connection ended before the answer came.
};

// Asks up to `pause_ns_max` after each answer. `source` must outlive the process.
absl::StatusOr<std::unique_ptr<Program>> StartAsker(Process& process, int port,
                                                    int64_t pause_ns_max, QuestionSource& source);

}  // namespace tickstack::simulate
