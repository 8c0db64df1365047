#include "cli/top_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "base/file.h"
#include "base/printable.h"
#include "base/status.h"
#include "base/time.h"
#include "cli/exit_codes.h"
#include "cli/raw_terminal.h"
#include "cli/stack_config.h"
#include "cli/tls_config.h"
#include "cli/top_figures.h"
#include "cli/top_screen.h"
#include "cli/top_watch.h"
#include "security/credentials_file.h"
#include "wire/listener_options.h"

namespace tickstack::cli {
namespace {

using namespace std::chrono_literals;

constexpr int64_t kIntervalNs = kNsPerSecond;
constexpr auto kAnswerTime = 900ms;  // A process that takes longer is shown as silent.
constexpr auto kOnceTime = 5s;       // The same for --once.
constexpr auto kKeyInterval = 50ms;  // Between two looks at the keys.

// What is watched, and how to log in.
struct TopPlan {
  std::string title;
  std::vector<TopTarget> targets;
  serve::HealthLimits limits;
  wire::ClientOptions client;
};

absl::StatusOr<TopPlan> PlanOfAddresses(const TopOptions& options) {
  TopPlan plan;
  plan.title = Printable(options.target);
  for (size_t begin = 0; begin <= options.target.size();) {
    const size_t end = std::min(options.target.find(',', begin), options.target.size());
    const std::string text = options.target.substr(begin, end - begin);
    TS_ASSIGN_OR_RETURN(const wire::Address address, wire::ParseAddress(text));
    plan.targets.push_back({Printable(text), "", address, true});
    begin = end + 1;
  }
  if (options.login.tls.is_set()) TS_RETURN_IF_ERROR(wire::SetTlsClientOptions(options.login.tls));
  TS_ASSIGN_OR_RETURN(plan.client, LoginOf(options.login));
  return plan;
}

// Returns how to log in at the processes of a stack on this machine.
absl::StatusOr<wire::ClientOptions> StackLogin(const TopOptions& options,
                                               const StackConfig& config) {
  const std::string path = CredentialsPath(config);
  const bool given = !options.login.user.empty() || !options.login.credentials.empty();
  if (given || path.empty()) return LoginOf(options.login);
  absl::StatusOr<security::FileCredentials> file = security::LoadCredentials(path);
  if (!file.ok()) {
    return Annotate(file.status(), "no --user or --credentials, and not the stack's own");
  }
  wire::ClientOptions client;
  client.user = file->user;
  client.password = file->password.text();
  return client;
}

absl::StatusOr<TopPlan> PlanOfStack(const TopOptions& options) {
  TS_ASSIGN_OR_RETURN(StackConfig config, LoadStackConfig(options.target));
  TopPlan plan;
  plan.title = Printable(options.target);
  for (const ListedProcess& listed : ProcessesOf(config)) {
    const wire::ListenerOptions& listener = listed.process->listener();
    plan.targets.push_back({listed.process->name(), std::string(listed.kind->role),
                            wire::AddressOf(listener), listener.port != 0});
  }
  if (plan.targets.empty()) return InvalidArgument("{}: found no process", options.target);
  // All processes of a file have the same limits.
  if (config.tickerplant) plan.limits = config.tickerplant->health;
  if (options.login.tls.is_set()) config.tls_client = options.login.tls;
  TS_RETURN_IF_ERROR(UseTls(config));
  TS_ASSIGN_OR_RETURN(plan.client, StackLogin(options, config));
  return plan;
}

absl::StatusOr<TopPlan> PlanOf(const TopOptions& options) {
  const bool is_address =
      options.target.find(':') != std::string::npos && !FileExists(options.target).value_or(false);
  return is_address ? PlanOfAddresses(options) : PlanOfStack(options);
}

std::string TimeOfDay() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return fmt::format("{:02}:{:02}:{:02}", local.tm_hour, local.tm_min, local.tm_sec);
}

class Top {
 public:
  Top(TopPlan plan, const TopOptions& options)
      : plan_(std::move(plan)), options_(options), watch_(plan_.targets, plan_.client) {}

  int RunOnce() {
    before_ = Poll();
    const int64_t next_ns = MonotonicNs() + kIntervalNs;
    while (MonotonicNs() < next_ns && !watch_.stopped()) WaitForAnswers(next_ns, nullptr);
    const StackFigures figures = FiguresOf(before_, Poll(), plan_.limits);
    std::string text;
    if (options_.json) {
      text = TopJson(figures);
    } else {
      TopView view = ViewNow();
      view.has_keys = false;
      for (const std::string& line : TopLines(figures, view)) text += line + "\n";
    }
    const bool all = std::ranges::all_of(figures.processes, &ProcessFigures::answers);
    return WriteOut(text) && all ? EXIT_SUCCESS : EXIT_FAILURE;
  }

  int RunOnTerminal() {
    RawTerminal terminal;
    int64_t next_ns = 0;
    while (!ended_ && !watch_.stopped() && !terminal.is_closed()) {
      if (!paused_ && MonotonicNs() >= next_ns) {
        next_ns = MonotonicNs() + kIntervalNs;
        watch_.Begin();
        asked_ns_ = MonotonicNs();
      }
      TakeAnswers();
      Draw();
      WaitForAnswers(next_ns, &terminal);
    }
    return EXIT_SUCCESS;
  }

 private:
  // Asks all processes and returns their answers. Nothing is drawn meanwhile, so there is time for
  // logins on a busy machine.
  std::vector<TopAnswer> Poll() {
    watch_.Begin();
    watch_.Run(kOnceTime);
    return watch_.Take();
  }

  // Looks at the answers of the last questions, if all are there or the time for them is over.
  void TakeAnswers() {
    if (asked_ns_ == 0) return;
    const int64_t late_ns = asked_ns_ + std::chrono::nanoseconds(kAnswerTime).count();
    if (!watch_.Done() && MonotonicNs() < late_ns) return;
    asked_ns_ = 0;
    std::vector<TopAnswer> now = watch_.Take();
    figures_ = FiguresOf(before_, now, plan_.limits);
    before_ = std::move(now);
    is_drawn_ = false;
  }

  // Handles answers and keys for a short time.
  void WaitForAnswers(int64_t until_ns, RawTerminal* terminal) {
    const int64_t end_ns = std::min(MonotonicNs() + std::chrono::nanoseconds(kKeyInterval).count(),
                                    std::max(until_ns, MonotonicNs()));
    watch_.RunFor(std::chrono::nanoseconds(std::max<int64_t>(end_ns - MonotonicNs(), 1'000'000)));
    if (terminal == nullptr) return;
    for (auto key = terminal->Read(); key.key != Key::kNone; key = terminal->Read()) Do(key);
  }

  void Do(const RawTerminal::Pressed& pressed) {
    is_drawn_ = false;
    switch (pressed.key) {
      case Key::kRight:
      case Key::kDown:
        return order_.Step(1);
      case Key::kLeft:
      case Key::kUp:
        return order_.Step(-1);
      case Key::kNone:
        return;
      case Key::kCharacter:
        break;
    }
    if (pressed.character == 'q' || pressed.character == 'Q') ended_ = true;
    if (pressed.character == 's') order_.Step(1);
    if (pressed.character == 'p') paused_ = !paused_;
  }

  TopView ViewNow() const {
    return {.title = plan_.title, .time = TimeOfDay(), .order = order_, .paused = paused_};
  }

  void Draw() {
    const RawTerminal::Size size = RawTerminal::SizeNow();
    if (is_drawn_ && size == size_) return;
    is_drawn_ = true;
    size_ = size;
    TopView view = ViewNow();
    view.width = size.width;
    view.height = size.height;
    RawTerminal::Draw(TopLines(figures_, view));
  }

  const TopPlan plan_;
  const TopOptions& options_;
  TopWatch watch_;
  std::vector<TopAnswer> before_;  // The last answers.
  StackFigures figures_;           // What they say.
  TopOrder order_;
  bool paused_ = false;
  bool ended_ = false;
  bool is_drawn_ = false;  // True if the screen shows the figures.
  int64_t asked_ns_ = 0;   // When questions were asked whose answers were not looked at; 0: none.
  RawTerminal::Size size_{};
};

}  // namespace

int RunTop(const TopOptions& options) {
  absl::StatusOr<TopPlan> plan = PlanOf(options);
  if (!plan.ok()) {
    std::fprintf(stderr, "%s\n", std::string(Message(plan.status())).c_str());
    return absl::IsInvalidArgument(plan.status()) ? kExitWrongUsage : EXIT_FAILURE;
  }
  Top top(*std::move(plan), options);
  const bool on_terminal = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
  return on_terminal && !options.once && !options.json ? top.RunOnTerminal() : top.RunOnce();
}

}  // namespace tickstack::cli
