#pragma once

// The names that a request assigns. They belong to its client (kept_names.h): they cannot change
// anything that the process has.

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

// Returns what holding a term costs: the bytes of its values, and its parsed statements. Captured
// and stored columns do not count. `as_gathered` decides whether columns that are still deferred
// count as if they were gathered; it is set when they are kept while temporaries are given back.
//
// Errors: `stack` for lists nested more than kMaxListDepth deep. A caller that keeps a value for a
// later step checks this, so that no loop builds a value that is too deep to be walked. Cost: a
// step per item of a list.
absl::StatusOr<Budget::Amount> CheckedBytes(const Term& term, bool as_gathered = false);

// Converts a term for repeated use: large values are shared, so that copies of the term are cheap,
// and terms that stand for functions become functions.
absl::StatusOr<Term> Shared(Term term, Budget& budget);

// Calls f(), gives back everything that it charged, and charges only its result: for a step whose
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

// A term that a loop replaces repeatedly, charged while it is held.
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

// Variables of one lambda call, or those of the request, which lambdas see as well.
class Frame {
 public:
  // `lambda` is nullptr for those of the request; else it lives as long as the frame.
  Frame(Budget& budget, const std::shared_ptr<const Lambda>* lambda)
      : budget_(budget), lambda_(lambda) {}
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  const std::shared_ptr<const Lambda>* lambda() const { return lambda_; }
  // True for a parameter, or a name assigned in the lambda.
  bool IsLocal(std::string_view name) const;
  const Term* Find(std::string_view name) const;  // nullptr if it is not assigned yet.
  // Keeps the term, which is charged while it is kept. Errors: `limit`, and those of CheckedBytes.
  absl::Status Assign(std::string_view name, Term term);
  // Binds a parameter to its argument, which the caller has charged.
  absl::Status Bind(std::string_view name, Term term);
  // Takes a variable out to change it; the variable stays, without a value.
  std::optional<Term> Take(std::string_view name);

  // Calls visit(name) for each variable that has a value.
  template <typename F>
  void Each(F visit) const {
    for (const Variable& variable : variables_) {
      if (variable.term.has_value()) visit(std::string_view(variable.name));
    }
  }

  // For a request: the namespace of names without a dot (`\d`), `.` for the root, and the console
  // size for `.Q.s` (`\c`).
  struct Console {
    int32_t lines = 25;
    int32_t columns = 80;
  };
  const std::string& space() const { return space_; }
  void set_space(std::string_view space) { space_ = space; }
  const Console& console() const { return console_; }
  void set_console(Console console) { console_ = console; }

  // For a request: where its random numbers come from.
  Random& random() { return random_; }

  // For a request: the client that sent it; nullptr: none.
  ClientHandle* client() const { return client_; }
  void set_client(ClientHandle* client) { client_ = client; }

  // For a request: defines a view, `name::x` outside of a lambda, which is evaluated whenever its
  // name is used. Errors: those of Assign.
  absl::Status AssignView(std::string_view name, const std::shared_ptr<const Lambda>& expression);
  // Returns nullptr if the name is not that of a view.
  std::shared_ptr<const Lambda> ViewOfName(std::string_view name) const;
  std::vector<std::string> Views() const;  // Sorted.
  bool HasViews() const { return has_views_; }

  // For a request: the trace of the current error. Each function that returns the error adds its
  // source text, the innermost first; a trap takes all of them.
  void AddToTrace(std::string_view source);
  void ForgetTrace() { trace_.clear(); }
  // Returns the trace as `.Q.trp` passes it on: for each function, the innermost first and `trap`
  // last, a list of (list of the function; (name; file; line; source); place in it; number).
  absl::StatusOr<Value> TakeTrace(std::string_view trap, Budget& budget);

  // Assigns a variable that the client kept. EachChanged calls visit(name, term, is_view) for the
  // variables that changed since.
  absl::Status AssignKept(std::string_view name, Term term, bool is_view);
  template <typename F>
  void EachChanged(F visit) const {
    for (const Variable& variable : variables_) {
      if (variable.term.has_value() && !variable.is_kept) {
        visit(std::string_view(variable.name), *variable.term, variable.is_view);
      }
    }
  }

  // The value of `:x`, on its way out of the lambda.
  std::optional<Term> returned;

 private:
  struct Variable {
    std::string name;
    std::optional<Term> term;
    Budget::Amount held_bytes;
    bool is_view = false;
    bool is_kept = false;  // As KeptNames has it.
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
  // For a text of the request: its names belong to the request's current namespace.
  explicit Variables(Frame& request) : request_(request), space_(request.space()) {}
  // For the body of a lambda's call.
  Variables(const Variables& outer, Frame& locals)
      : request_(outer.request_), locals_(&locals), space_((*locals.lambda())->space) {}

  Frame& request() const { return request_; }
  Frame* locals() const { return locals_; }  // nullptr outside of lambdas.
  Frame& innermost() const { return locals_ != nullptr ? *locals_ : request_; }
  // The namespace of names without a dot: that of the called lambda, else of the text.
  const std::string& space() const { return space_; }
  template <typename F>
  void ForEachOfRequest(F visit) const {
    request_.Each(visit);
  }
  // Returns a name that is not local, with its namespace.
  std::string Whole(std::string_view name) const;
  // Returns the expression of a view of the request; nullptr if the name is not that of a view.
  std::shared_ptr<const Lambda> ViewOfName(std::string_view name) const;
  bool Has(std::string_view name) const;
  // Returns the frame of a variable, which must exist.
  Frame& FrameOf(std::string_view name) const;
  // Returns a copy: cheap for vectors, lists and tables, which are shared; a dictionary is copied
  // and charged. nullopt if there is no such variable.
  absl::StatusOr<std::optional<Term>> Find(std::string_view name, Budget& budget) const;

 private:
  Frame& request_;
  Frame* locals_ = nullptr;
  std::string space_;
};

// Assigns to a local if the lambda has one with that name, else to a variable of the request.
// Errors: `assign: NAME` for names of the process or reserved by q, and for other names in their
// namespaces; `nyi` for a dot within a name; those of Frame::Assign.
absl::Status AssignName(Context& context, std::string_view name, Term term);
absl::Status CannotAssign(std::string_view name);
// Checks that a name may become a variable of the request.
absl::Status CheckAssignable(Context& context, std::string_view name);

// Returns the variable that a symbol names, for changing it; nullopt if the term is no symbol.
// Errors: `assign: NAME` for names of the process, and the name itself if it does not exist.
absl::StatusOr<std::optional<std::string>> VariableNamed(Context& context, const Term& term);

}  // namespace tickstack::query
