#include <ferrompi/info.hpp>

#include <ferrompi/environment.hpp>
#include <ferrompi/error.hpp>

#include "ferrompi/mpi_main.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <type_traits>

using ferrompi::ErrorClass;
using ferrompi::Info;
using ferrompi::MpiError;

namespace {

static_assert(!std::is_copy_constructible_v<Info> && !std::is_copy_assignable_v<Info>);
static_assert(std::is_nothrow_move_constructible_v<Info> && std::is_nothrow_move_assignable_v<Info>);
static_assert(std::input_iterator<Info::Iterator>);

template <class Call>
ErrorClass class_thrown_by(Call call) {
  try {
    call();
  } catch (const MpiError& error) {
    return error.error_class();
  }
  return ErrorClass::Success;
}

TEST(Info, HandsBackWhatWasSet) {
  Info info;
  info.set("access_style", "read_once");
  EXPECT_EQ(info.get("access_style"), "read_once");
  EXPECT_TRUE(info.contains("access_style"));
}

TEST(Info, HasNoValueForAnUnknownKey) {
  Info info;
  EXPECT_EQ(info.get("nothing"), std::nullopt);
  EXPECT_FALSE(info.contains("nothing"));
  info.set("something", "1");
  EXPECT_EQ(info.get("nothing"), std::nullopt);
}

TEST(Info, ReplacesTheValueOfAKeyThatIsThere) {
  Info info;
  info.set("key", "first");
  info.set("key", "a second, longer value");
  EXPECT_EQ(info.get("key"), "a second, longer value");
  EXPECT_EQ(info.size(), 1u);
}

TEST(Info, ErasesAndSaysWhetherThereWasAnything) {
  Info info{{"a", "1"}, {"b", "2"}};
  EXPECT_TRUE(info.erase("a"));
  EXPECT_FALSE(info.erase("a"));
  EXPECT_EQ(info.keys(), std::vector<std::string>{"b"});
}

TEST(Info, IteratesOverAllPairs) {
  const Info info{{"one", "1"}, {"two", "22"}, {"three", "333"}};
  std::map<std::string, std::string> seen;
  for (const auto& [key, value] : info) seen[key] = value;
  EXPECT_EQ(seen, (std::map<std::string, std::string>{{"one", "1"}, {"two", "22"}, {"three", "333"}}));
  auto keys = info.keys();
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(keys, (std::vector<std::string>{"one", "three", "two"}));
}

TEST(Info, IsEmptyAtFirst) {
  const Info info;
  EXPECT_TRUE(info.empty());
  EXPECT_EQ(info.size(), 0u);
  EXPECT_TRUE(info.begin() == info.end());
  EXPECT_NE(info.native(), MPI_INFO_NULL);
}

TEST(Info, KeepsTheLongestKeyAndValueWhole) {
  const std::string key(Info::max_key_length, 'k');
  const std::string value(Info::max_value_length, 'v');
  Info info;
  info.set(key, value);
  EXPECT_EQ(info.get(key), value);
  EXPECT_EQ(info.keys(), std::vector<std::string>{key});
  EXPECT_EQ((*info.begin()).second, value);
}

TEST(Info, RefusesWhatTheLibraryWouldCut) {
  Info info;
  EXPECT_EQ(class_thrown_by([&] { info.set(std::string(Info::max_key_length + 1, 'k'), "v"); }), ErrorClass::InfoKey);
  EXPECT_EQ(class_thrown_by([&] { info.set("k", std::string(Info::max_value_length + 1, 'v')); }),
            ErrorClass::InfoValue);
  EXPECT_EQ(class_thrown_by([&] { (void)info.get(std::string(Info::max_key_length + 1, 'k')); }), ErrorClass::InfoKey);
  EXPECT_TRUE(info.empty());
}

TEST(Info, SaysHowLongAKeyMayBe) {
  Info info;
  try {
    info.set(std::string(1000, 'k'), "v");
    FAIL() << "a key of 1000 characters was taken";
  } catch (const MpiError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("1000 characters"), std::string::npos) << text;
    EXPECT_NE(text.find("at most " + std::to_string(Info::max_key_length)), std::string::npos) << text;
    EXPECT_EQ(error.operation(), "set");
  }
}

TEST(Info, RefusesAnEmbeddedNulAndAnEmptyKey) {
  using namespace std::string_view_literals;
  Info info;
  EXPECT_EQ(class_thrown_by([&] { info.set("a\0b"sv, "v"); }), ErrorClass::InfoKey);
  EXPECT_EQ(class_thrown_by([&] { info.set("a", "v\0w"sv); }), ErrorClass::InfoValue);
  EXPECT_EQ(class_thrown_by([&] { (void)info.get("a\0b"sv); }), ErrorClass::InfoKey);
  EXPECT_EQ(class_thrown_by([&] { (void)info.erase("a\0b"sv); }), ErrorClass::InfoKey);
  EXPECT_EQ(class_thrown_by([&] { info.set("", "v"); }), ErrorClass::InfoKey);
  EXPECT_TRUE(info.empty());
}

TEST(Info, KeepsAnEmptyValueUnlessTheLibraryRefusesIt) {
  Info info;
  const auto outcome = class_thrown_by([&] { info.set("key", ""); });
  if (ferrompi::Mpi::library_version().starts_with("Open MPI")) {
    EXPECT_EQ(outcome, ErrorClass::InfoValue);
    EXPECT_FALSE(info.contains("key"));
  } else {
    EXPECT_EQ(outcome, ErrorClass::Success);
    EXPECT_EQ(info.get("key"), "");
  }
}

TEST(Info, NullLooksEmptyAndRefusesToBeSet) {
  auto info = Info::null();
  EXPECT_TRUE(info.is_null());
  EXPECT_EQ(info.native(), MPI_INFO_NULL);
  EXPECT_EQ(info.size(), 0u);
  EXPECT_EQ(info.get("key"), std::nullopt);
  EXPECT_FALSE(info.erase("key"));
  EXPECT_TRUE(info.keys().empty());
  EXPECT_TRUE(info.duplicate().is_null());
  EXPECT_EQ(class_thrown_by([&] { info.set("key", "value"); }), ErrorClass::Info);
}

TEST(Info, DuplicateIsIndependent) {
  Info info{{"key", "original"}};
  auto copy = info.duplicate();
  copy.set("key", "changed");
  copy.set("more", "x");
  EXPECT_EQ(info.get("key"), "original");
  EXPECT_EQ(info.size(), 1u);
  EXPECT_EQ(copy.get("key"), "changed");
}

TEST(Info, MovedFromIsNull) {
  Info info{{"key", "value"}};
  const auto handle = info.native();
  Info moved = std::move(info);
  EXPECT_EQ(moved.native(), handle);
  EXPECT_TRUE(info.is_null());  // NOLINT(bugprone-use-after-move): what a moved-from Info looks like is the point
  info = std::move(moved);
  EXPECT_EQ(info.get("key"), "value");
}

TEST(Info, MayBeManyAtOnce) {
  std::vector<Info> many;
  for (int i = 0; i < 1000; ++i) many.push_back(Info{{"key", std::to_string(i)}});
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(many[static_cast<std::size_t>(i)].get("key"), std::to_string(i));
}

TEST(Info, HoldsManyKeys) {
  Info info;
  for (int i = 0; i < 300; ++i) info.set("key" + std::to_string(i), std::to_string(i * i));
  EXPECT_EQ(info.size(), 300u);
  for (int i = 0; i < 300; ++i) EXPECT_EQ(info.get("key" + std::to_string(i)), std::to_string(i * i));
}

}  // namespace
