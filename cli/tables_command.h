#pragma once

// `tickstack tables`: prints the section `[tables]` for the tables that another system has.

#include <string>

namespace tickstack::cli {

struct TablesOptions {
  std::string source;  // A q script, or the directory of a database.
};

// Prints to stdout the section `[tables]` with the tables that a q script defines
// (query/schema_script.h), or that the newest partition of a database has. Comments say what the
// section cannot express. Returns 0; 1 with the error on stderr, and nothing on stdout, if the
// source cannot be read or has something that a configuration cannot have.
int RunTables(const TablesOptions& options);

}  // namespace tickstack::cli
