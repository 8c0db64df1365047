#pragma once

// The variables that a request assigns. Its client can use them in later requests (kept_names.h).
// They cannot replace names of the process.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "query/language/random.h"
#include "query/language/term.h"

namespace tickstack::query {

class ClientHandle;

// Returns the memory that a term holds: the bytes of its values and of parsed statements. Captured
// and stored columns do not count. With `as_gathered`, a deferred column counts as if it were
// gathered: for a term that is kept while Temporaries gives back charges.
//
// Errors: `stack` for lists nested more than kMaxListDepth deep. A caller that keeps a value for a
//         later step calls this function, so that no loop builds a value that is too deep to be
//         walked.
// Cost:   a step per item of a list.
absl::StatusOr<Budget::Amount> CheckedBytes(const Term& term, bool as_gathered = false);

// Converts a term for repeated use: vectors, lists and tables become shared, so that copies of the
// term are cheap, and a value that represents a function becomes that function.
absl::StatusOr<Term> Shared(Term term, Budget& budget);

// Calls f(), gives back everything that it charged, and charges its result. For a step whose
// temporaries are freed when it ends.
template <typename F>
absl::StatusOr<Term> KeepingResult(Budget& budget, F f) {
  absl::StatusOr<Term> result = [&] {
    const Budget::Temporaries temporaries(budget);
    return f();
  }();
  TS_RETURN_IF_ERROR(result.status());
  TS_ASSIGN_OR_RETURN(const Budget::Amount bytes, CheckedBytes(*result));
  TS_RETURN_IF_ERROR(budget.Charge(bytes));
  return result;
}

// A term that a loop replaces in each step. The current term is charged.
class HeldTerm {
 public:
  explicit HeldTerm(Budget& budget) : budget_(budget) {}
  ~HeldTerm() { budget_.Release(bytes_); }
  HeldTerm(const HeldTerm&) = delete;
  HeldTerm& operator=(const HeldTerm&) = delete;

  absl::Status Set(Term term);
  const Term& term() const { return term_; }
  Term Release() && { return std::move(term_); }

 private:
  Budget& budget_;
  Term term_ = Value();
  Budget::Amount bytes_;
};

// The variables of one call of a lambda, or those of the request, which lambdas can use as well.
// Members that are "for a request" are used only in the frame of the request.
class Frame {
 public:
  // `lambda` is the called lambda, which must outlive the frame; nullptr for the request's
  // variables.
  Frame(Budget& budget, const std::shared_ptr<const Lambda>* lambda)
      : budget_(budget), lambda_(lambda) {}
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  const std::shared_ptr<const Lambda>* lambda() const { return lambda_; }
  // True for a parameter of the lambda, or a name that it assigns.
  bool IsLocal(std::string_view name) const;
  const Term* Find(std::string_view name) const;  // nullptr if it is not assigned yet.
  // Keeps the term, which is charged while it is kept. Errors: `limit`, and those of CheckedBytes.
  absl::Status Assign(std::string_view name, Term term);
  // Binds a parameter to its argument, which the caller has charged.
  absl::Status Bind(std::string_view name, Term term);
  // Moves the value of a variable out. The variable then has no value until it is assigned again.
  std::optional<Term> Take(std::string_view name);

  // For a request: removes a variable.
  void Forget(std::string_view name);
  // Calls visit(name) for each variable that was removed and not assigned again.
  template <typename F>
  void EachForgotten(F visit) const {
    for (const Variable& variable : variables_) {
      if (variable.is_forgotten) visit(std::string_view(variable.name));
    }
  }

  // Calls visit(name) for each variable that has a value.
  template <typename F>
  void Each(F visit) const {
    for (const Variable& variable : variables_) {
      if (variable.term.has_value()) visit(std::string_view(variable.name));
    }
  }

  // For a request: the size of the console for `.Q.s` (`\c`).
  struct Console {
    int32_t lines = 25;
    int32_t columns = 80;
  };
  // For a request: the namespace of names without a dot (`\d`); `.` is the root.
  const std::string& space() const { return space_; }
  void set_space(std::string_view space) { space_ = space; }
  const Console& console() const { return console_; }
  void set_console(Console console) { console_ = console; }

  // For a request: its random numbers.
  Random& random() { return random_; }
  const Random& random() const { return random_; }

  // For a request: the client that sent it; nullptr if there is none.
  ClientHandle* client() const { return client_; }
  void set_client(ClientHandle* client) { client_ = client; }

  // For a request: defines a view, `name::x` outside of a lambda. Its expression x is evaluated
  // each time that the name is used. Errors: those of Assign.
  absl::Status AssignView(std::string_view name, const std::shared_ptr<const Lambda>& expression);
  // Returns the expression of a view; nullptr if there is no view of that name.
  std::shared_ptr<const Lambda> ViewOfName(std::string_view name) const;
  std::vector<std::string> Views() const;  // Returns the names of all views, sorted.
  bool HasViews() const { return has_views_; }

  // For a request: the trace of the current error. Each function that returns the error adds its
  // source text, the innermost function first, until a trap catches the error.
  void AddToTrace(std::string_view source);
  void ForgetTrace() { trace_.clear(); }
  // Returns the trace in the form of `.Q.trp` and clears it. It has an entry for each function, the
  // innermost first, and a last one for `trap`. An entry is a list of four items: a list with the
  // function; (name; file; line; source); the position in the source; the entry's number.
  absl::StatusOr<Value> TakeTrace(std::string_view trap, Budget& budget);

  // Assigns a variable that the client kept from earlier requests.
  absl::Status AssignKept(std::string_view name, Term term, bool is_view);
  // Calls visit(name, term, is_view) for each variable that was assigned other than by AssignKept.
  template <typename F>
  void EachChanged(F visit) const {
    for (const Variable& variable : variables_) {
      if (variable.term.has_value() && !variable.is_kept) {
        visit(std::string_view(variable.name), *variable.term, variable.is_view);
      }
    }
  }

  // The value of `:x` while the lambda ends; nullopt otherwise.
  std::optional<Term> returned;

 private:
  struct Variable {
    std::string name;
    std::optional<Term> term;
    Budget::Amount held_bytes;
    bool is_view = false;
    bool is_kept = false;  // True if the value is that of AssignKept.
    bool is_forgotten = false;
  };
  Variable* FindVariable(std::string_view name);

  Budget& budget_;
  const std::shared_ptr<const Lambda>* const lambda_;
  std::vector<Variable> variables_;
  std::string space_ = ".";
  std::vector<std::string> trace_;
  bool has_views_ = false;
  Console console_;
  Random random_;
  ClientHandle* client_ = nullptr;
};

// The meaning of names at some point of an evaluation.
class Variables {
 public:
  // For the text of the request, whose names belong to the request's current namespace.
  explicit Variables(Frame& request) : request_(request), space_(request.space()) {}
  // For a call of a lambda, with the variables `locals`.
  Variables(const Variables& outer, Frame& locals)
      : request_(outer.request_), locals_(&locals), space_((*locals.lambda())->space) {}

  Frame& request() const { return request_; }
  Frame* locals() const { return locals_; }  // nullptr outside of lambdas.
  Frame& innermost() const { return locals_ != nullptr ? *locals_ : request_; }
  // The namespace of names without a dot: that of the called lambda, or of the request's text.
  const std::string& space() const { return space_; }
  template <typename F>
  void ForEachOfRequest(F visit) const {
    request_.Each(visit);
  }
  // Returns the full name, with its namespace, of a name that is not local.
  std::string Whole(std::string_view name) const;
  // Returns the expression of a view; nullptr if the name does not mean a view.
  std::shared_ptr<const Lambda> ViewOfName(std::string_view name) const;
  bool Has(std::string_view name) const;
  // Returns the frame of a variable, which must exist.
  Frame& FrameOf(std::string_view name) const;
  // Returns the value of a variable; nullopt if there is none. A vector, list or table is shared,
  // and a dictionary is copied and charged.
  absl::StatusOr<std::optional<Term>> Find(std::string_view name, Budget& budget) const;

 private:
  Frame& request_;
  Frame* locals_ = nullptr;
  std::string space_;
};

// Assigns to a local variable if the lambda has one with that name, else to a variable of the
// request. Errors: those of CheckAssignable and Frame::Assign.
absl::Status AssignName(Context& context, std::string_view name, Term term);
// Returns the error `assign: NAME`.
absl::Status CannotAssign(std::string_view name);
// Checks that a name may become a variable of the request. Errors: `assign: NAME` for a name of the
// process, a name that q reserves, or any name in a namespace of these; `nyi` for a dot within a
// name, as in `a.b`.
absl::Status CheckAssignable(Context& context, std::string_view name);

// Returns the name of the variable that a symbol names, for a function that changes variables;
// nullopt if the term is no symbol. Errors: `assign: NAME` for a name of the process, and the name
// itself if it does not exist.
absl::StatusOr<std::optional<std::string>> VariableNamed(Context& context, const Term& term);

}  // namespace tickstack::query
