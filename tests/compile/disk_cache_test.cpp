#include "compile/disk_cache.h"

#include "codegen/compiler.h"
#include "compile/tiered_compiler.h"
#include "scalar/builder.h"
#include "scalar/random_program.h"
#include "scalar/run.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <random>
#include <thread>

namespace rondel::compile {
namespace {

using codegen::Hash;
namespace fs = std::filesystem;

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::size_t size, unsigned char first = 1) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(first + i);
  return bytes;
}

Hash key_of(int number) { return codegen::hash_of(std::as_bytes(std::span(&number, 1))); }

/// A folder of its own for each test.
class DiskCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "rondel-cache-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  /// A thread that compiles may still write an entry: what it writes goes in another attempt.
  void TearDown() override {
    std::error_code error;
    for (int attempt = 0; attempt < 1000 && fs::exists(root_); ++attempt)
      fs::remove_all(root_, error);
  }

  /// Created when something is kept.
  fs::path folder() const { return root_ / "made" / "here"; }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    if (!fs::exists(folder())) return found;
    for (const auto& entry : fs::directory_iterator(folder())) found.push_back(entry.path());
    std::ranges::sort(found);
    return found;
  }
  fs::path only_file() const {
    EXPECT_EQ(files().size(), 1U);
    return files().at(0);
  }

  fs::path root_;
};

Bytes found(const DiskCache& cache, int number) { return cache.find(key_of(number)); }

TEST_F(DiskCacheTest, what_was_added_is_found_by_others) {
  DiskCache cache(folder());
  EXPECT_FALSE(cache.has(key_of(1)));
  EXPECT_TRUE(found(cache, 1).empty());
  EXPECT_FALSE(fs::exists(folder())) << "looking creates nothing";
  cache.add(key_of(1), bytes_of(5000));
  cache.add(key_of(2), bytes_of(1, 7));
  const DiskCache another(folder());
  EXPECT_TRUE(another.has(key_of(1)));
  EXPECT_EQ(found(another, 1), bytes_of(5000));
  EXPECT_EQ(found(another, 2), bytes_of(1, 7));
  EXPECT_FALSE(another.has(key_of(3)));
  EXPECT_EQ(another.info().entries, 2U);
  EXPECT_GE(another.info().bytes, 5001U);
  EXPECT_EQ(another.info().off, "");
}

TEST_F(DiskCacheTest, clearing_removes_what_is_ours_alone) {
  DiskCache cache(folder());
  cache.add(key_of(1), bytes_of(10));
  std::ofstream(folder() / ".unfinished-0123456789abcdef") << "x";
  const char* const of_others[] = {".unfinished-1", "mine.code", "notes.txt"};
  for (const char* name : of_others) std::ofstream(folder() / name) << "x";
  EXPECT_EQ(cache.clear().entries, 1U);
  EXPECT_EQ(cache.info().entries, 0U);
  ASSERT_EQ(files().size(), std::size(of_others));
  for (const char* name : of_others) EXPECT_TRUE(fs::exists(folder() / name)) << name;
}

TEST_F(DiskCacheTest, without_a_folder_nothing_is_kept) {
  DiskCache cache{fs::path()};
  cache.add(key_of(1), bytes_of(10));
  EXPECT_FALSE(cache.has(key_of(1)));
  EXPECT_TRUE(found(cache, 1).empty());
  EXPECT_NE(cache.info().off, "");
}

TEST_F(DiskCacheTest, no_damaged_entry_is_used) {
  DiskCache cache(folder());
  const Bytes object = bytes_of(300);
  cache.add(key_of(1), object);
  const fs::path path = only_file();
  std::ifstream in(path, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  std::mt19937 random(20261126);
  for (int k = 0; k < 10'000; ++k) {
    std::string damaged = whole;
    const std::size_t at = random() % whole.size();
    switch (random() % 4) {
      case 0: damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8)); break;
      case 1: damaged.resize(at); break;
      case 2: damaged.insert(at, 1 + random() % 9, static_cast<char>(random())); break;
      default: damaged.replace(at, 64, std::min<std::size_t>(64, whole.size() - at), '\0');
    }
    if (damaged == whole) continue;
    std::ofstream(path, std::ios::binary) << damaged;
    ASSERT_TRUE(found(cache, 1).empty()) << "damage " << k;
  }
  cache.add(key_of(1), object);
  EXPECT_EQ(found(cache, 1), object);
}

TEST_F(DiskCacheTest, an_entry_of_another_key_is_not_used) {
  DiskCache cache(folder());
  cache.add(key_of(1), bytes_of(10));
  fs::rename(only_file(), folder() / (key_of(2).hex() + ".code"));
  EXPECT_TRUE(found(cache, 2).empty());
}

TEST_F(DiskCacheTest, what_others_may_write_to_is_not_used) {
  DiskCache cache(folder());
  cache.add(key_of(1), bytes_of(10));
  const fs::path path = only_file();
  ::chmod(path.c_str(), 0620);
  EXPECT_TRUE(found(cache, 1).empty());
  ::chmod(path.c_str(), 0600);
  EXPECT_FALSE(found(cache, 1).empty());
  ::chmod(folder().c_str(), 0777);
  EXPECT_TRUE(found(cache, 1).empty());
  EXPECT_NE(cache.info().off.find("others may write"), std::string::npos);
  cache.add(key_of(2), bytes_of(10));
  EXPECT_EQ(only_file(), path) << "nothing is kept there";
}

TEST_F(DiskCacheTest, links_and_other_things_are_not_used) {
  DiskCache cache(folder());
  cache.add(key_of(1), bytes_of(10));
  const fs::path path = only_file(), elsewhere = root_ / "elsewhere";
  fs::rename(path, elsewhere);
  fs::create_symlink(elsewhere, path);
  EXPECT_TRUE(found(cache, 1).empty());
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_TRUE(found(cache, 1).empty()) << "it does not wait for a writer";
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_TRUE(found(cache, 1).empty());
  cache.add(key_of(1), bytes_of(10));
  EXPECT_EQ(only_file(), path) << "what can't be replaced leaves nothing behind";
}

TEST_F(DiskCacheTest, a_folder_that_cannot_be_made_is_no_error) {
  std::ofstream(root_ / "made") << "a file";
  DiskCache cache(folder());
  cache.add(key_of(1), bytes_of(10));
  EXPECT_FALSE(cache.has(key_of(1)));
  EXPECT_EQ(cache.clear().entries, 0U);
}

TEST_F(DiskCacheTest, the_entries_unused_for_longest_go_first) {
  constexpr std::size_t size = 1000;
  DiskCache cache(folder(), 16 * size);
  const auto age = [&](int number, int hours) {
    fs::last_write_time(folder() / (key_of(number).hex() + ".code"),
                        fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  for (int k = 0; k < 12; ++k) {
    cache.add(key_of(k), bytes_of(size));
    age(k, 100 - k);
  }
  EXPECT_FALSE(found(cache, 0).empty());  // now it is the newest
  for (int k = 12; k < 40; ++k) cache.add(key_of(k), bytes_of(size));
  EXPECT_LE(cache.info().bytes, 16 * size);
  EXPECT_GE(cache.info().entries, 10U);
  EXPECT_FALSE(cache.has(key_of(1)));
  EXPECT_TRUE(cache.has(key_of(39)));
  cache.add(key_of(99), bytes_of(5 * size));
  EXPECT_FALSE(cache.has(key_of(99))) << "one entry does not take a quarter of the folder";
}

TEST_F(DiskCacheTest, what_a_killed_writer_left_goes) {
  {
    DiskCache cache(folder());
    cache.add(key_of(1), bytes_of(10));
  }
  const fs::path left = folder() / ".unfinished-0123456789abcdef",
                 fresh = folder() / ".unfinished-fedcba9876543210";
  std::ofstream(left) << "x";
  std::ofstream(fresh) << "x";
  fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::hours(2));
  DiskCache(folder()).add(key_of(2), bytes_of(10));
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(fresh)) << "somebody may be writing it";
}

/// Runs `work` in a child process, which it does not leave by itself, and kills it after a while.
void kill_within(std::chrono::microseconds time, const std::function<void()>& work) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    work();
    ::_exit(0);
  }
  std::this_thread::sleep_for(time);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_F(DiskCacheTest, writers_that_are_killed_leave_whole_entries_or_none) {
  std::size_t kept = 0;
  for (int round = 0; round < 60; ++round) {
    kill_within(std::chrono::microseconds(500 + 100 * round), [&] {
      DiskCache cache(folder());
      for (int k = 0;; ++k)
        cache.add(key_of(k % 50), bytes_of(20'000, static_cast<unsigned char>(k % 50)));
    });
    const DiskCache cache(folder());
    for (int k = 0; k < 50; ++k)
      if (cache.has(key_of(k))) {
        ++kept;
        ASSERT_EQ(found(cache, k), bytes_of(20'000, static_cast<unsigned char>(k)));
      }
  }
  EXPECT_GT(kept, 0U);
}

TEST_F(DiskCacheTest, writers_and_readers_do_not_disturb_each_other) {
  std::atomic<int> wrong = 0, seen = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      DiskCache cache(folder());
      for (int k = 0; k < 300; ++k) {
        const int number = (k + t) % 7;
        const Bytes whole = bytes_of(3000, static_cast<unsigned char>(number));
        cache.add(key_of(number), whole);
        const Bytes got = found(cache, (number + 3) % 7);
        if (got.empty()) continue;
        ++seen;
        wrong += got != bytes_of(3000, static_cast<unsigned char>((number + 3) % 7));
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(seen, 100);
}

TEST_F(DiskCacheTest, a_full_disk_leaves_nothing_behind) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit most{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &most);
    DiskCache cache(folder());
    cache.add(key_of(1), bytes_of(5000));
    cache.add(key_of(2), bytes_of(50));
    ::_exit(cache.has(key_of(1)) ? 1 : cache.has(key_of(2)) ? 0 : 2);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(files().size(), 1U);
}

TEST_F(DiskCacheTest, stored_code_computes_what_compiled_code_does) {
  using codegen::Compiler;
  const Compiler compiler;
  DiskCache cache(folder());
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto made = scalar::random_program(seed);
    const auto key = codegen::object_key(*made.program, Compiler::Tier::optimised);
    ASSERT_TRUE(key) << "the build has no identity";
    cache.add(*key, compiler.assemble(*made.program, Compiler::Tier::optimised));
    const auto object = cache.find(*key);
    ASSERT_FALSE(object.empty());
    const auto stored = compiler.link(made.program, object);
    EXPECT_EQ(difference(made, run_copies(*stored, made),
                         run_copies(*scalar::interpret(made.program), made)),
              "");
  }
}

DiskCache* disk_of_test = nullptr;
DiskCache& disk() { return *disk_of_test; }

/// The tiers of programs whose code may be on disk.
class TiersOnDisk : public DiskCacheTest {
 protected:
  using Tier = codegen::Compiler::Tier;
  void SetUp() override {
    DiskCacheTest::SetUp();
    cache_ = disk_of_test = new DiskCache(folder());  // leaked: threads that compile may outlive it
  }
  /// Runs a program that stores 64 numbers, until it has native code that stores `expected` first;
  /// gives the first number.
  static float run_until_native(const std::shared_ptr<const scalar::Program>& program,
                                float expected) {
    SharedCode code(Tier::optimised, disk);
    const auto made = TieredCompiler(Execution::tiered, code).make(program);
    const Tensor y = Tensor::zeros(DType::f32, {64});
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const auto run = [&] {
      scalar::Context context;
      EXPECT_EQ(scalar::run(*made, context, {y}), scalar::done);
    };
    while (!made->native() && std::chrono::steady_clock::now() < end) run();
    EXPECT_TRUE(made->native());
    run();
    // Afterwards there is a whole entry, of optimised code: quick code may have come first, and the
    // program must run on to be worth more.
    const auto* first = y.data_as<float>();
    while ((disk().find(key(*program)).empty() || *first != expected) &&
           std::chrono::steady_clock::now() < end) {
      run();
      std::this_thread::sleep_for(std::chrono::microseconds(10));
    }
    EXPECT_FALSE(disk().find(key(*program)).empty());
    return *first;
  }
  static std::shared_ptr<const scalar::Program> storing(double first) {
    scalar::Builder b("storing");
    const auto y = b.buffer({"y", DType::f32, scalar::Access::out, {64}});
    b.for_each(b.index(0), b.index(64),
               [&](scalar::Ex i) { b.store(y, {i}, b.constant(DType::f32, first)); });
    return b.finish();
  }
  static Hash key(const scalar::Program& p) { return *codegen::object_key(p, Tier::optimised); }
  fs::path file_of(const scalar::Program& p) const { return folder() / (key(p).hex() + ".code"); }

  DiskCache* cache_ = nullptr;
};

TEST_F(TiersOnDisk, stored_code_is_linked) {
  const auto one = storing(1), two = storing(2);
  cache_->add(key(*one), codegen::Compiler().assemble(*two, Tier::optimised));
  EXPECT_EQ(run_until_native(one, 2), 2) << "this entry was changed on purpose, to be recognised";
}

TEST_F(TiersOnDisk, what_is_refused_is_compiled) {
  const auto one = storing(1), two = storing(2);
  cache_->add(key(*one), codegen::Compiler().assemble(*two, Tier::optimised));
  ::chmod(file_of(*one).c_str(), 0620);
  EXPECT_EQ(run_until_native(one, 1), 1);
}

TEST_F(TiersOnDisk, what_is_damaged_is_compiled) {
  const auto one = storing(1);
  cache_->add(key(*one), bytes_of(1000));
  fs::resize_file(file_of(*one), 900);
  EXPECT_EQ(run_until_native(one, 1), 1);
}

TEST_F(TiersOnDisk, what_cannot_be_linked_is_compiled) {
  const auto one = storing(1);
  cache_->add(key(*one), bytes_of(1000));
  EXPECT_EQ(run_until_native(one, 1), 1);
}

TEST(ObjectKey, differs_by_who_makes_the_object) {
  using Tier = codegen::Compiler::Tier;
  const auto a = scalar::random_program(1).program;
  const std::string maker = codegen::maker_of_objects();
  ASSERT_FALSE(maker.empty());
  EXPECT_EQ(codegen::object_key(maker, *a, Tier::optimised),
            codegen::object_key(*a, Tier::optimised));
  EXPECT_NE(codegen::object_key(maker + " +amx", *a, Tier::optimised),
            codegen::object_key(*a, Tier::optimised));
}

TEST(ObjectKey, differs_by_code_and_tier) {
  using Tier = codegen::Compiler::Tier;
  const auto a = scalar::random_program(1).program, b = scalar::random_program(2).program;
  const auto key = codegen::object_key(*a, Tier::optimised);
  ASSERT_TRUE(key);
  EXPECT_EQ(key, codegen::object_key(*a, Tier::optimised));
  EXPECT_NE(key, codegen::object_key(*a, Tier::quick));
  EXPECT_NE(key, codegen::object_key(*b, Tier::optimised));
}

}  // namespace
}  // namespace rondel::compile
