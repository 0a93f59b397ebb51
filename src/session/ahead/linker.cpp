#include "session/ahead/linker.h"

#include "base/error.h"
#include "base/text.h"
#include "session/ahead/compiled_api.h"
#include "session/ahead/model_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <fstream>
#include <link.h>
#include <spawn.h>
#include <sstream>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace rondel::ahead {
namespace {

namespace fs = std::filesystem;

/// The file on the PATH, or the file itself if it has a folder; empty: there is none.
std::string executable(const std::string& name) {
  if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0 ? name : "";
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const std::string file = folder + "/" + name; ::access(file.c_str(), X_OK) == 0)
      return file;
  return "";
}

std::string find_compiler() {
  const char* chosen = std::getenv("CC");
  if (chosen != nullptr && *chosen != '\0') {
    const std::string found = executable(chosen);
    if (found.empty()) unsupported("CC is '{}', which is no program", chosen);
    return found;
  }
  for (const char* name : {"cc", "gcc", "clang"})
    if (std::string found = executable(name); !found.empty()) return found;
  unsupported(
      "compiling a model needs a C compiler to link it, and there is no cc, gcc or clang on the "
      "PATH; install one (Debian: apt-get install gcc), or name it in the environment as CC");
}

/// The folder of the library that this function is in.
fs::path own_folder() {
  Dl_info found{};
  const auto* here = reinterpret_cast<const void*>(&own_folder);
  if (::dladdr(here, &found) == 0 || found.dli_fname == nullptr) return {};
  std::error_code error;
  return fs::weakly_canonical(found.dli_fname, error).parent_path();
}

fs::path find_runtime() {
  const fs::path runtime = own_folder() / "rondel_linked.o";
  std::error_code error;
  if (!fs::exists(runtime, error))
    unsupported(
        "compiling a model needs rondel_linked.o beside librondel.so, and there is no {}; "
        "this installation of Rondel has no such part",
        runtime.string());
  return runtime;
}

/// The files of this process whose names begin with one of these: what the run-time library needs,
/// this process has, too.
std::vector<std::string> loaded_libraries() {
  static constexpr std::array needed{"libre2",  "libturbojpeg", "libspng",
                                     "libwebp", "libstdc++",    "libgcc_s"};
  struct Found {
    std::vector<std::string> files;
  } found;
  const auto visit = [](dl_phdr_info* file, std::size_t, void* data) {
    const fs::path path = file->dlpi_name == nullptr ? "" : file->dlpi_name;
    const std::string name = path.filename().string();
    for (const std::string_view wanted : needed)
      if (name.starts_with(wanted) && !std::isalpha(name[wanted.size()]))
        static_cast<Found*>(data)->files.push_back(path.string());
    return 0;
  };
  ::dl_iterate_phdr(visit, &found);
  return found.files;
}

void write(const fs::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  require(out.good(), "{} cannot be written: {}", file.string(), std::strerror(errno));
}

/// Runs a program with its output in a file; whether it succeeded, as far as the system tells: not
/// in a process that ignores SIGCHLD.
bool run(const std::vector<std::string>& command, const fs::path& output) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
  ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, words[0], &actions, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) unsupported("{} cannot be started: {}", command[0], std::strerror(failed));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return errno == ECHILD;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// The table of the model (model_table.h), the functions that jump to the run-time library, and the
/// note by which a compiled model is recognised.
std::string assembly(const LinkInput& in) {
  std::string text;
  const auto line = [&](const std::string& l) { text += l + "\n"; };
  line("  .section .note.rondel,\"a\",@note");
  line("  .p2align 2");
  line(fmt::format("  .long {}, 4, 1", std::string_view(note_name).size() + 1));
  line(fmt::format("  .asciz \"{}\"", note_name));
  line("  .p2align 2");
  line(fmt::format("  .long {}", abi));
  line("  .text");
  const auto jump = [&](const std::string& from, const char* to) {
    line(fmt::format("  .globl {0}\n  .type {0},@function\n{0}:\n  jmp {1}", from, to));
  };
  jump(in.name + "_run", "rondel_linked_run");
  jump(in.name + "_free", "rondel_linked_free");
  jump(in.name + "_ports", "rondel_linked_ports");
  jump(api_function, "rondel_linked_api");
  line("  .section .rodata");
  line("  .p2align 6\nrondel_description:");
  line(fmt::format("  .incbin \"{}\"", in.description));
  line("  .p2align 6\nrondel_contents:");
  line(fmt::format("  .incbin \"{}\"", in.contents));
  // Beyond two gigabytes, what follows could not be reached from the code.
  const bool large = in.weight_bytes >= (std::uint64_t{1} << 30);
  line(large ? "  .section .lrodata,\"al\",@progbits"
             : "  .section .rodata.weights,\"a\",@progbits");
  line("  .p2align 12\nrondel_weights:");
  line(fmt::format("  .incbin \"{}\"", in.weights));
  line("  .section .data.rel.ro,\"aw\",@progbits\n  .p2align 3");
  line("  .globl rondel_model_table\n  .hidden rondel_model_table\nrondel_model_table:");
  line(fmt::format("  .quad rondel_description, {}", in.description_bytes));
  line(fmt::format("  .quad rondel_weights, {}", in.weight_bytes));
  line(fmt::format("  .quad rondel_codes, {}", in.programs.size()));
  line("rondel_codes:");
  for (const LinkedProgram& p : in.programs)
    line(fmt::format("  .quad {:#x}, {:#x}, rondel_contents+{}, {}, {}", p.high, p.low,
                     8 * p.first_word, p.words, p.symbol));
  line("  .section .note.GNU-stack,\"\",@progbits");
  return text;
}

std::string argument(const std::string& word) {
  std::string text = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"";
}

}  // namespace

WorkFolder::WorkFolder() {
  std::error_code error;
  fs::path parent = fs::temp_directory_path(error);
  if (error) parent = "/tmp";
  std::string name = (parent / "rondel-compile-XXXXXX").string();
  require(::mkdtemp(name.data()) != nullptr, "no folder can be made in {}: {}", parent.string(),
          std::strerror(errno));
  path_ = name;
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Linker::Linker() : compiler_(find_compiler()), runtime_(find_runtime()) {}

void Linker::link(const LinkInput& in, const fs::path& library) const {
  write(in.folder / "model.s", assembly(in));
  write(in.folder / "exports.map",
        fmt::format("{{ global: {0}_run; {0}_free; {0}_ports; {1}; local: *; }};\n", in.name,
                    api_function));
  const auto file = [&](const std::string& name) { return (in.folder / name).string(); };
  // The names in the assembler file are relative to the folder.
  std::vector<std::string> words{"-shared", "-nodefaultlibs", "-Wa,-I," + in.folder.string(),
                                 file("model.s")};
  for (const std::string& object : in.objects) words.push_back(file(object));
  words.push_back(runtime_.string());
  words.emplace_back("-Wl,--as-needed");
  for (const std::string& loaded : loaded_libraries()) words.push_back(loaded);
  words.insert(
      words.end(),
      {"-lgcc", "-lm", "-lpthread", "-ldl", "-lc", "-Wl,--version-script=" + file("exports.map"),
       "-Wl,--gc-sections", "-Wl,-z,defs", "-Wl,-z,nodelete", "-Wl,-z,relro", "-Wl,-z,now",
       "-Wl,--hash-style=gnu", "-Wl,--build-id=sha1", "-Wl,-s", "-o", library.string()});
  std::string arguments;
  for (const std::string& word : words) arguments += argument(word) + "\n";
  write(in.folder / "arguments", arguments);
  if (run({compiler_, "@" + file("arguments")}, in.folder / "log")) return;
  std::ifstream log(in.folder / "log");
  std::string first, text;
  while (text.size() < 2000 && std::getline(log, first)) text += "\n" + first;
  unsupported("{} cannot link the compiled model:{}", compiler_, text);
}

}  // namespace rondel::ahead
