#include "session/deepx/engine.h"

#include "base/error.h"
#include "frontends/deepx/append.h"
#include "frontends/deepx/parser.h"
#include "frontends/deepx/print.h"
#include "session/deepx/files.h"
#include "session/options.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

namespace rondel::deepx {
namespace {

/// The most lines that are computed together, which bounds the memory of waiting lines.
constexpr std::size_t most_waiting = std::size_t{1} << 16;
/// Lines between two checks whether the run must end.
constexpr std::size_t lines_between_checks = 1024;

bool ends_the_run(const Error& e) {
  return e.blame() == Blame::deadline || e.blame() == Blame::cancelled;
}

const RunSettings& checked(const RunSettings& settings) {
  session::checked(settings.run);
  return settings;
}

/// One run of a text.
class TextRun {
 public:
  TextRun(Engine& engine, const RunSettings& settings)
      : engine_(engine), settings_(checked(settings)), begin_(std::chrono::steady_clock::now()) {}

  std::vector<Failure> run(std::string_view text) {
    Parser parser(text);
    for (std::size_t count = 0; !stopped_; ++count) {
      if (count % lines_between_checks == lines_between_checks - 1) check_end();
      std::optional<Statement> s;
      try {
        s = parser.next();
        if (!s) break;
      } catch (const Error& e) {
        compute();
        if (!stopped_) fail(parser.line(), parser.metadata(), e);
        continue;
      }
      if (waiting_.empty() && parser.is_at_end()) run_single(std::move(*s));
      else append(std::move(*s));
    }
    if (!stopped_) compute();
    return std::move(failures_);
  }

 private:
  /// The options of a computation that starts now: its deadline is the rest of the deadline of the
  /// whole text.
  RunOptions options_now() const {
    RunOptions o = settings_.run;
    if (o.deadline) {
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin_;
      o.deadline = std::max(0.0, *o.deadline - spent.count());
    }
    return o;
  }

  void check_end() {
    const RunOptions o = options_now();
    if (o.terminate != nullptr && o.terminate->load())
      roll_back_and_throw(Error(Blame::cancelled, "the run was ended by its terminate flag"));
    if (o.interrupted && o.interrupted())
      roll_back_and_throw(
          Error(Blame::cancelled, "the run was ended by its `interrupted` function"));
    if (o.deadline && *o.deadline == 0)
      roll_back_and_throw(Error(Blame::deadline, "the run's deadline has passed"));
  }

  /// Runs a line on its own: the last line of the text when no others wait, as at a prompt.
  void run_single(Statement s) {
    std::optional<SingleLine> line;
    try {
      line = look_up(engine_.program(), engine_.line_graphs(), s);
      if (line) engine_.compute(*line, options_now());
    } catch (const Error& e) {
      if (ends_the_run(e)) roll_back_and_throw(e);
      roll_back();
      return fail(s.at.line, s.metadata, at_line(e, s.at));
    } catch (...) {
      roll_back();
      throw;
    }
    if (line) report_done(s);
    else append(std::move(s));
  }

  void append(Statement s) {
    try {
      const std::optional<Effect> effect = deepx::append(engine_.program(), engine_.line_graphs(),
                                                         s);
      if (!effect) {
        waiting_.push_back(std::move(s));
        if (waiting_.size() == most_waiting) compute();
        return;
      }
      compute();
      if (stopped_) return;
      perform(*effect);
      report_done(s);
    } catch (const Error& e) {
      if (ends_the_run(e)) throw;
      const bool others_wait = !waiting_.empty();
      compute();
      if (stopped_) return;
      // The memory of tensors that the lines before have deleted or replaced is free now.
      if (e.blame() == Blame::limit && others_wait) return append(std::move(s));
      fail(s.at.line, s.metadata, at_line(e, s.at));
    }
  }

  /// Computes the waiting lines together. If that fails, computes them one by one, so that the
  /// error belongs to the line that fails and the lines before it take effect.
  void compute() {
    try {
      engine_.compute(options_now());
    } catch (const Error& e) {
      if (ends_the_run(e)) return roll_back_and_throw(e);
      return compute_one_by_one();
    } catch (...) {
      roll_back();
      throw;
    }
    for (const Statement& s : waiting_) report_done(s);
    waiting_.clear();
  }

  void compute_one_by_one() {
    engine_.program().undo();
    const std::vector<Statement> lines = std::exchange(waiting_, {});
    for (const Statement& s : lines) {
      if (stopped_) return;
      try {
        deepx::append(engine_.program(), engine_.line_graphs(), s);
        engine_.compute(options_now());
        report_done(s);
      } catch (const Error& e) {
        if (ends_the_run(e)) return roll_back_and_throw(e);
        engine_.program().undo();
        fail(s.at.line, s.metadata, at_line(e, s.at));
      } catch (...) {
        roll_back();
        throw;
      }
    }
  }

  void roll_back() {
    engine_.program().undo();
    waiting_.clear();
  }
  [[noreturn]] void roll_back_and_throw(const Error& e) {
    roll_back();
    throw Error(e);
  }

  void perform(const Effect& e) {
    if (e.kind == Effect::Kind::print) {
      const std::string text = shown(e.name, engine_.value(e.name), e.text, e.text_at);
      if (settings_.on_print) settings_.on_print(text);
      else std::fwrite(text.data(), 1, text.size(), stdout);
      return;
    }
    const std::optional<Files>& files = engine_.options().files;
    if (e.kind == Effect::Kind::save) return save(files, e, engine_.value(e.name));
    const Loaded loaded = load(files, e, engine_.program().names());
    engine_.define(loaded.name, loaded.value);
  }

  void report_done(const Statement& s) {
    if (settings_.on_line) settings_.on_line(s.at.line, s.metadata, nullptr);
  }
  void fail(std::size_t line, const Metadata& metadata, const Error& e) {
    failures_.push_back({line, metadata, e});
    if (settings_.on_line) settings_.on_line(line, metadata, &failures_.back());
    stopped_ = !settings_.keep_going;
  }

  Engine& engine_;
  const RunSettings& settings_;
  const std::chrono::steady_clock::time_point begin_;
  std::vector<Statement> waiting_;  ///< appended, not computed
  std::vector<Failure> failures_;
  bool stopped_ = false;
};

}  // namespace

std::vector<Failure> run_text(Engine& engine, std::string_view text, const RunSettings& settings) {
  return TextRun(engine, settings).run(text);
}

}  // namespace rondel::deepx
