#pragma once

// `tickstack user`: adds, removes and lists the users of a stack, and changes their passwords.

#include <string>
#include <vector>

namespace tickstack::cli {

struct UserOptions {
  std::string config;  // Path of the stack.toml whose `users` is the file.
  std::string users;   // Path of the users file, instead of the configuration's.
  std::string name;
  // For `add`: tables, symbols and groups; `*` is all.
  std::vector<std::string> groups, publish, subscribe, symbols, query;
  bool metrics = false;
  bool administer = false;
  bool token = false;  // True: draws the password and prints it as a bearer token.
  bool json = false;   // For `list`.
};

// Each returns the exit code: 0 done, 1 failed, with the reason on stderr. A password is read from
// the terminal, twice and without echo, or from the first line of stdin.
int RunUserAdd(const UserOptions& options);
int RunUserRemove(const UserOptions& options);
int RunUserPasswd(const UserOptions& options);
int RunUserList(const UserOptions& options);

}  // namespace tickstack::cli
