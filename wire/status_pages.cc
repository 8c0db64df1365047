#include "wire/status_pages.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/status.h"

namespace tickstack::wire {
namespace {

struct NamedPage {
  std::string_view path;
  StatusPage page;
};
constexpr std::array kPages = {
    NamedPage{"/metrics", StatusPage::kMetrics}, NamedPage{"/healthz", StatusPage::kAlive},
    NamedPage{"/readyz", StatusPage::kReady}, NamedPage{"/events", StatusPage::kEvent}};

StatusReply SilentLoop() {
  return {.ok = false,
          .text = fmt::format("the process's event loop has not responded for {} ms\n",
                              StatusDesk::kAnswerWithin.count())};
}

}  // namespace

std::optional<StatusPage> StatusPageAt(std::string_view target) {
  const std::string_view path = target.substr(0, target.find_first_of("?#"));
  for (const NamedPage& named : kPages) {
    if (named.path == path) return named.page;
  }
  return std::nullopt;
}

std::string_view ContentTypeOf(StatusPage page) {
  return page == StatusPage::kMetrics ? "text/plain; version=0.0.4; charset=utf-8"
                                      : "text/plain; charset=utf-8";
}

StatusDesk::StatusDesk(EventLoop& loop, StatusSource* source, EventLoop* process_loop)
    : loop_(loop),
      source_(source),
      process_loop_(process_loop),
      mailbox_(std::make_shared<Mailbox>()) {
  mailbox_->desk = this;
}

StatusDesk::~StatusDesk() { Close(); }

absl::StatusOr<std::string> StatusSource::FormatParquet(const Value&) const {
  return Unimplemented("this process writes no Parquet");
}

absl::StatusOr<std::string> StatusDesk::FormatParquet(const Value& table) const {
  if (source_ == nullptr) return Unimplemented("this process writes no Parquet");
  return source_->FormatParquet(table);
}

void StatusDesk::Close() {
  {
    const std::lock_guard lock(mailbox_->mutex);
    mailbox_->desk = nullptr;
  }
  questions_.clear();
}

void StatusDesk::Ask(StatusPage page, Done done) {
  const uint64_t number = ++last_;
  Question& question =
      *questions_.emplace(number, std::make_unique<Question>(loop_, std::move(done))).first->second;
  question.timer.Once(kAnswerWithin, [this, number] { Finish(number, SilentLoop); });
  process_loop_->Post([mailbox = mailbox_, number, page] { Collect(mailbox, number, page); });
}

// On the process's loop. The server's destructor closes the desk, and does not run at the same time
// as this loop. So the server and the source exist while the mailbox is open. The lock is not held
// while the source works.
void StatusDesk::Collect(const std::shared_ptr<Mailbox>& mailbox, uint64_t number,
                         StatusPage page) {
  StatusSource* source = nullptr;
  {
    const std::lock_guard lock(mailbox->mutex);
    if (mailbox->desk == nullptr) return;
    source = mailbox->desk->source_;
  }
  StatusSource::Render render = source->Collect(page);
  const std::lock_guard lock(mailbox->mutex);
  if (mailbox->desk == nullptr) return;
  StatusDesk* const desk = mailbox->desk;
  desk->loop_.Post([mailbox, number, render = std::move(render)] {
    // Only the thread of this loop closes the desk.
    if (mailbox->desk != nullptr) mailbox->desk->Finish(number, render);
  });
}

void StatusDesk::Finish(uint64_t number, const StatusSource::Render& render) {
  const auto found = questions_.find(number);
  if (found == questions_.end()) return;  // Its time was over.
  const std::unique_ptr<Question> question = std::move(found->second);
  questions_.erase(found);
  question->done(render());
}

}  // namespace tickstack::wire
