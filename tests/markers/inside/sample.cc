// SPDX-License-Identifier: LGPL-2.1-or-later
// Marks in C++, wherever a compiler could mislay them. Compiled by matrix.sh with many compilers and options.
#include <memory>
#include <string>
#include <vector>
#include "espy/mark.h"
#include "sample.h"

int sample_evaluated;

static int count(int v)
{
	sample_evaluated++;
	return v;
}

enum class shape : unsigned char { round = 3 };
enum plain { plain_one = 1, plain_two }; // -1 is none of its values

struct thing {
	std::string name;
	int v;

	thing(const char *n, int value) : name(n), v(value)
	{
		MARK(cpp_constructor, "v=%d", v);
	}
	template <class T> T get(T x)
	{
		std::string tmp(name);
		MARK(cpp_get, "x=%d name=%s", static_cast<int>(x), tmp.c_str());
		return x + static_cast<T>(v);
	}
	int member() const
	{
		MARK(cpp_member, "v=%d", count(v));
		return v;
	}
	virtual ~thing()
	{
		MARK(cpp_destructor, "v=%d", v);
	}
};

template <class T> static void number(T x)
{
	std::string guard("a destructor in the way");
	MARK(cpp_number, "x=%d", x);
}

template <class T> static int pointer(const T &x)
{
	MARK(cpp_size, "size=%zu", sizeof(x));
	MARK(cpp_pointer, "p=%p", static_cast<const void *>(&x));
	return static_cast<int>(sizeof(T));
}

inline int in_header(int a)
{
	MARK(cpp_inline, "a=%d", a);
	return a * 2;
}

static int catches(int i)
{
	try {
		std::string s("try");
		MARK(cpp_try, "f=%f b=%d e=%d", 1.0f, i > 0, static_cast<int>(shape::round));
		if (i & 1)
			throw i;
	} catch (int v) {
		MARK(cpp_catch, "v=%d", v);
		return 2;
	}
	return 1;
}

extern "C" int sample_run(int n)
{
	int events = 0;
	volatile int keep;

	for (int i = 0; i < n; i++) {
		std::unique_ptr<thing> t(new thing("name", i));
		std::vector<int> v{ 1, 2, 3 };
		auto lambda = [&](int q) {
			std::string d("z");
			MARK(cpp_lambda, "q=%d s=%s n=%zu", q, d.c_str(), v.size());
			return q;
		};

		for (int x : v)
			keep = t->get(x + lambda(x));
		keep = t->get(static_cast<short>(1));
		keep = t->member();
		number(3);
		number(static_cast<short>(3));
		number(static_cast<signed char>(3));
		keep = pointer(1.5) + pointer('c') + in_header(i);
		events += 1 + 3 * 2 + 1 + 1 + 3 + 4 + 1 + catches(i) + 1;
		MARK_IF(i & 1, cpp_if, "i=%d", count(i));
		events += i & 1;
		MARK_INLINE(cpp_code, std::string q("inline"); keep = static_cast<int>(q.size()));
		if (MARK_ENABLED(cpp_try))
			MARK(cpp_enabled, "");
		events++;
		MARK(cpp_null, "%p %s", static_cast<void *>(nullptr), "x");
		MARK(cpp_enum, "e=%u", i ? plain_one : plain_two);
		events += 2;
	}
	(void)keep;
	return events;
}
