#pragma once

// A terminal whose whole screen a program draws, without waiting for Enter after keys.

#include <termios.h>

#include <cstddef>
#include <string>
#include <vector>

namespace tickstack::cli {

enum class Key { kNone, kUp, kDown, kLeft, kRight, kCharacter };

// Takes over the terminal of stdin and stdout while this object exists: shows an alternate screen
// without echo and without a cursor. The destructor restores the terminal. Ctrl-C stays a signal;
// Ctrl-Z does nothing.
//
// Threads: one owner. Only one per process.
class RawTerminal {
 public:
  RawTerminal();
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  struct Pressed {
    Key key = Key::kNone;
    char character = 0;  // The character that was typed, if `key` is kCharacter.
  };
  // Returns the next key that was pressed; kNone if there is none, without waiting.
  Pressed Read();
  // True if the terminal is gone.
  bool is_closed() const { return is_closed_; }

  struct Size {
    size_t width;
    size_t height;
    bool operator==(const Size&) const = default;
  };
  // Returns the current size, which changes as windows do.
  static Size SizeNow();
  // Replaces what is on the screen; lines must fit.
  static void Draw(const std::vector<std::string>& lines);

 private:
  void Fill();  // Reads the bytes that have arrived, without waiting.

  termios before_{};
  bool is_set_ = false;
  bool is_closed_ = false;
  std::string unread_;
};

}  // namespace tickstack::cli
