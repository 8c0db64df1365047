#include "cli/line_editor.h"

#include <histedit.h>

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <utility>

namespace tickstack::cli {
namespace {

constexpr int kHistoryLines = 5000;
constexpr size_t kWordsShown = 200;

}  // namespace

struct LineEditor::Impl {
  static unsigned char OnTab(EditLine* editor, int) { return Of(editor)->CompleteWord(); }
  static unsigned char OnCancel(EditLine* editor, int) {
    Of(editor)->cancelled = true;
    return CC_NEWLINE;
  }
  static char* PromptOf(EditLine* editor) { return Of(editor)->prompt.data(); }
  static Impl* Of(EditLine* editor) {
    void* data = nullptr;
    el_get(editor, EL_CLIENTDATA, &data);
    return static_cast<Impl*>(data);
  }

  // Inserts the words' common prefix; if several words share no more, shows the list.
  unsigned char CompleteWord() {
    const LineInfo* const line = el_line(editor);
    const std::string_view text(line->buffer, static_cast<size_t>(line->cursor - line->buffer));
    const Completion found = complete(text);
    if (found.words.empty()) return CC_ERROR;
    const std::string more = CommonBegin(found.words).substr(text.size() - found.begin);
    if (!more.empty()) {
      el_insertstr(editor, more.c_str());
      return CC_REFRESH;
    }
    if (found.words.size() == 1) return CC_ERROR;
    std::fputc('\n', stdout);
    for (size_t i = 0; i < std::min(found.words.size(), kWordsShown); ++i) {
      std::printf("%s  ", found.words[i].c_str());
    }
    std::printf("%s\n", found.words.size() > kWordsShown ? ".." : "");
    return CC_REDISPLAY;
  }

  EditLine* editor = nullptr;
  History* history = nullptr;
  std::string history_file;
  Complete complete;
  std::string prompt;
  bool cancelled = false;
};

LineEditor::LineEditor(std::string history_file, Complete complete)
    : impl_(std::make_unique<Impl>()) {
  Impl& impl = *impl_;
  impl.history_file = std::move(history_file);
  impl.complete = std::move(complete);
  HistEvent event;
  // Without a UTF-8 locale, a terminal's bytes beyond ASCII would be dropped, and the query would
  // differ from what was typed.
  if (std::string_view(std::setlocale(LC_CTYPE, "")) == "C") std::setlocale(LC_CTYPE, "C.UTF-8");
  impl.history = history_init();
  history(impl.history, &event, H_SETSIZE, kHistoryLines);
  history(impl.history, &event, H_SETUNIQUE, 1);
  if (!impl.history_file.empty()) history(impl.history, &event, H_LOAD, impl.history_file.c_str());
  impl.editor = el_init("tickstack", stdin, stdout, stderr);
  el_set(impl.editor, EL_CLIENTDATA, &impl);
  el_set(impl.editor, EL_PROMPT, &Impl::PromptOf);
  el_set(impl.editor, EL_EDITOR, "emacs");
  el_set(impl.editor, EL_HIST, history, impl.history);
  el_set(impl.editor, EL_SIGNAL, 0);
  el_set(impl.editor, EL_ADDFN, "q-complete", "Complete a name", &Impl::OnTab);
  el_set(impl.editor, EL_ADDFN, "q-cancel", "Begin a new line", &Impl::OnCancel);
  el_set(impl.editor, EL_BIND, "^I", "q-complete", nullptr);
  el_set(impl.editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  // While a line is typed, Ctrl-C is a key; while an answer is pending, it is a signal.
  el_set(impl.editor, EL_SETTY, "-d", "-isig", nullptr);
  el_set(impl.editor, EL_BIND, "^C", "q-cancel", nullptr);
}

LineEditor::~LineEditor() {
  el_end(impl_->editor);
  history_end(impl_->history);
}

std::optional<LineEditor::Line> LineEditor::Read(const std::string& prompt) {
  impl_->prompt = prompt;
  impl_->cancelled = false;
  int count = 0;
  const char* const text = el_gets(impl_->editor, &count);
  if (impl_->cancelled) {  // The text may be empty, which is not the end of input.
    std::fputs("\n", stdout);
    return Line{.text = {}, .cancelled = true};
  }
  if (text == nullptr || count <= 0) return std::nullopt;
  Line line{{text, static_cast<size_t>(count)}};
  if (line.text.ends_with('\n')) line.text.pop_back();
  return line;
}

void LineEditor::AddToHistory(const std::string& entry) {
  HistEvent event;
  history(impl_->history, &event, H_ENTER, entry.c_str());
  if (impl_->history_file.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(impl_->history_file).parent_path(),
                                      ignored);
  history(impl_->history, &event, H_SAVE, impl_->history_file.c_str());
}

std::string CommonBegin(const std::vector<std::string>& words) {
  if (words.empty()) return "";
  std::string common = words.front();
  for (const std::string& word : words) {
    const auto end = std::mismatch(common.begin(), common.end(), word.begin(), word.end());
    common.erase(end.first, common.end());
  }
  return common;
}

}  // namespace tickstack::cli
