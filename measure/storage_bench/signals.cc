#include "measure/storage_bench/signals.h"

#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/check.h"
#include "base/status.h"

namespace tickstack::measure::storage_bench {

HeldSignals::HeldSignals() {
  sigset_t held;
  sigemptyset(&held);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&held, number);
  sigprocmask(SIG_BLOCK, &held, &before_);
  pipe_before_ = ::signal(SIGPIPE, SIG_IGN);
  size_before_ = ::signal(SIGXFSZ, SIG_IGN);
  fd_ = OwnedFd(::signalfd(-1, &held, SFD_NONBLOCK | SFD_CLOEXEC));
  TS_CHECK(fd_.is_open());
}

HeldSignals::~HeldSignals() {
  // A signal that nobody read must not end the process after it has tidied up.
  signalfd_siginfo info;
  while (::read(fd_.get(), &info, sizeof(info)) > 0) continue;
  ::signal(SIGXFSZ, size_before_);
  ::signal(SIGPIPE, pipe_before_);
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

absl::Status HeldSignals::Check() const {
  signalfd_siginfo info;
  if (::read(fd_.get(), &info, sizeof(info)) != static_cast<ssize_t>(sizeof(info))) {
    return absl::OkStatus();
  }
  return absl::CancelledError(
      AbslView(fmt::format("ended by SIG{}", ::sigabbrev_np(static_cast<int>(info.ssi_signo)))));
}

}  // namespace tickstack::measure::storage_bench
