#pragma once

// Decides what askers ask a gateway, and what the answers must be:
//
//   each answer   the rows are the first ones of a day's log, or of several days, as many as the
//                 rdb had that had the fewest when the question was asked; all rows of a day that
//                 has ended. Without trouble, also those that were published a while before.
//   each error    something was wrong with the gateway, the network or all rdbs, or no process that
//                 answered had one of the days.
//   in the end    each kind of question has an answer with all rows of the log.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulate/gateway_asker.h"
#include "tests/simulate/gateway_question.h"
#include "tests/simulate/gateway_state.h"
#include "tests/simulate/gateway_truth.h"

namespace tickstack::simulate {

class GatewayCheck final : public QuestionSource {
 public:
  // The questions are about the days from `first` to `last`. Everything must outlive this.
  GatewayCheck(World& world, const GatewayOptions& options, int32_t first, int32_t last)
      : world_(world), options_(options), first_(first), last_(last) {}
  void set_state(const GatewayState* state) { state_ = state; }

  std::string Ask(const Process& asker, size_t* number) override;
  void OnAnswer(size_t number, const absl::StatusOr<Value>& answer) override;
  void OnLost(size_t number) override;
  void OnCaughtUp(size_t rdb);  // An rdb may answer from now on.

  void Look();  // From time to time.
  // Questions from now on must be answered with all rows.
  void BeginEnd() { end_begins_ = asked_.size(); }
  bool HasEnd() const;  // True if each kind of question was answered since then.
  // Compares all answers with the logs.
  void CheckEnd(const GatewayTruth& truth);

  const std::string& failure() const { return failure_; }  // The first failure; empty: none.
  void Fail(std::string what);
  int64_t answers() const { return answers_; }
  int64_t errors() const { return errors_; }

 private:
  struct Asked {
    GatewayQuestion question;
    std::string asker;
    int64_t asked_ns = 0;  // Monotonic.
    LeastRows least;
    bool is_over = false;  // It was answered or lost.
    std::optional<GatewayAnswer> answer;
  };

  std::vector<int32_t> DaysOf(const GatewayQuestion& question) const;
  static void AddRdb(const std::vector<LogPosition>& held, LeastRows& least);
  std::string Describe(const Asked& asked) const;

  World& world_;
  const GatewayOptions& options_;
  const int32_t first_, last_;
  const GatewayState* state_ = nullptr;
  std::vector<Asked> asked_;
  std::vector<size_t> waiting_;  // Questions that are not over.
  std::optional<size_t> end_begins_;
  int64_t answers_ = 0, errors_ = 0;
  std::string failure_;
};

}  // namespace tickstack::simulate
