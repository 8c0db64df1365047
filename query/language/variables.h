#pragma once

// The names that a request assigns. They are its client's (kept_names.h): nothing that the process
// has can be changed by one.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "query/language/term.h"

namespace tickstack::query {

class ClientHandle;

// What it costs to have a term: the bytes of its values, its parsed statements. Captured and stored
// columns are not the request's. Of columns that nobody has gathered yet, `as_gathered` says
// whether they count as if somebody had: who keeps them while temporaries are given back asks so.
//
// Errors: `stack` for lists in lists more than kMaxListDepth deep: whoever keeps a value for a
// later step asks, so that no loop builds one that is too deep to be walked. Cost:   a step for
// each item of a list.
absl::StatusOr<Budget::Amount> CheckedBytes(const Term& term, bool as_gathered = false);

// Converts a term for repeated use: large values are shared, so that copies of the term are cheap,
// and terms that stand for functions become functions.
absl::StatusOr<Term> Shared(Term term, Budget& budget);

// Calls f(), gives back what it charged, and charges its result alone: for a step whose temporaries
// are gone when it ends.
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

// A term that a loop replaces again and again, charged as long as it is kept.
class HeldTerm {
 public:
  explicit HeldTerm(Budget& budget) : budget_(budget) {}
  ~HeldTerm() { budget_.LetGo(bytes_); }
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
  bool IsLocal(std::string_view name) const;  // A parameter, or assigned somewhere in the lambda.
  const Term* Find(std::string_view name) const;  // nullptr: not assigned yet.
  // Keeps the term, charged as long as it is kept. Errors: `limit`, and of CheckedBytes.
  absl::Status Assign(std::string_view name, Term term);
  // Binds a parameter to its argument, which the caller has charged.
  absl::Status Bind(std::string_view name, Term term);
  // Takes a variable out to change it; its place stays, without a value.
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

  // For a request: the client that sent it; nullptr: none.
  ClientHandle* client() const { return client_; }
  void set_client(ClientHandle* client) { client_ = client; }

  // For a request: defines a view, `name::x` outside of a lambda, which is evaluated whenever its
  // name is used. Errors: those of Assign.
  absl::Status AssignView(std::string_view name, const std::shared_ptr<const Lambda>& expression);
  // nullptr: it is none.
  std::shared_ptr<const Lambda> ViewOfName(std::string_view name) const;
  std::vector<std::string> Views() const;  // Sorted.
  bool HasViews() const { return has_views_; }

  // For a request: the trace of the current error. Each function that returns the error adds its
  // source text, the innermost first; a trap takes all of them.
  void AddToTrace(std::string_view source);
  void ForgetTrace() { trace_.clear(); }
  // As `.Q.trp` hands it on: a list of (list of the function; (name; file; line; source); place in
  // it; number) of each, the innermost first, `trap` the last.
  absl::StatusOr<Value> TakeTrace(std::string_view trap, Budget& budget);

  // A variable as a client kept it, and those that a request changed since: visit(name, term,
  // is_view).
  absl::Status AssignKept(std::string_view name, Term term, bool is_view);
  template <typename F>
  void EachChanged(F visit) const {
    for (const Variable& variable : variables_) {
      if (variable.term.has_value() && !variable.is_kept) {
        visit(std::string_view(variable.name), *variable.term, variable.is_view);
      }
    }
  }

  // What `:x` returned on its way out of the lambda.
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
  ClientHandle* client_ = nullptr;
};

// What names stand for at some point of an evaluation.
class Variables {
 public:
  // Those of a text of the request: its names are of the namespace that the request is in now.
  explicit Variables(Frame& request) : request_(request), space_(request.space()) {}
  // Those inside of a lambda's call.
  Variables(const Variables& outer, Frame& locals)
      : request_(outer.request_), locals_(&locals), space_((*locals.lambda())->space) {}

  Frame& request() const { return request_; }
  Frame* locals() const { return locals_; }  // nullptr: not in a lambda.
  Frame& innermost() const { return locals_ != nullptr ? *locals_ : request_; }
  // The namespace of names without a dot: of the lambda that is called, else of the text.
  const std::string& space() const { return space_; }
  template <typename F>
  void EachOfTheRequest(F visit) const {
    request_.Each(visit);
  }
  // A name that is no local's, with its namespace.
  std::string Whole(std::string_view name) const;
  // The expression of a view of the request; nullptr: the name is none's.
  std::shared_ptr<const Lambda> ViewOfName(std::string_view name) const;
  bool Has(std::string_view name) const;
  // Where a variable is that there is.
  Frame& FrameOf(std::string_view name) const;
  // A copy: cheap for vectors, lists and tables, which are shared; a dictionary is copied and
  // charged. nullopt: there is no such variable.
  absl::StatusOr<std::optional<Term>> Find(std::string_view name, Budget& budget) const;

 private:
  Frame& request_;
  Frame* locals_ = nullptr;
  std::string space_;
};

// Assigns to a local if the lambda has one of that name, else to a variable of the request.
// Errors: `assign: NAME` for what the process has or q reserves, also for other names in a
// namespace of theirs; `nyi` for a dot within a name, and those of Frame::Assign.
absl::Status AssignName(Context& context, std::string_view name, Term term);
absl::Status CannotAssign(std::string_view name);
// Whether a name may become a variable of the request.
absl::Status CheckAssignable(Context& context, std::string_view name);

// The variable that a symbol names, which may be changed then; nullopt: the term is no symbol.
// Errors: `assign: NAME` for what the process has, and the name of what there is not.
absl::StatusOr<std::optional<std::string>> VariableNamed(Context& context, const Term& term);

}  // namespace tickstack::query
