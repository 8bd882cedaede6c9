/* SPDX-License-Identifier: MIT */
/*
 * Callbacks on marks, inside the program: link with -lespy-agent (pkg-config espy-agent).
 *
 *     #include <espy/agent.h>
 *
 *     static void on_done(void *data, int id, const char *path);
 *     ESPY_MARK_CALLBACK2(done, on_done, int, id, const char *, path)
 *     ...
 *     int e = espy_mark_connect("app_request_done", &done, data, 0);
 *     if (e)
 *             fprintf(stderr, "%s\n", espy_mark_error());
 *     ...
 *     espy_mark_disconnect("app_request_done", &done, data);
 *
 * A callback runs in the thread that passes the mark, in the state that this thread is in. If the mark is in a signal
 * handler, the callback runs in the signal handler. It runs with the locks that the program holds. A callback may use any
 * register and change errno; the agent restores both. It must not leave by longjmp or an exception. Marks that a callback
 * itself passes are events, but the agent calls no callbacks for them.
 */
#ifndef ESPY_AGENT_H
#define ESPY_AGENT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A callback with the types of its arguments. ESPY_MARK_CALLBACKn makes it; the agent reads it. */
struct espy_mark_callback {
	uint32_t size;          /* of this struct */
	uint32_t nargs;
	const char *signature;  /* "int id, const char * path", for messages */
	const uint8_t *types;   /* nargs types, as enum espy_mark_arg */
	void (*call)(void *data, const uint64_t *args);
};

enum {
	ESPY_MARK_LATER = 1, /* connect even if no mark of that name is loaded yet: the agent connects it when such a mark is loaded */
};

/*
 * Connects a callback to every mark of that name ("app_request_done" or "app:request_done"), in all objects. This includes
 * objects that are loaded later. A callback may be connected several times with different data. Returns:
 *   0
 *   -ENOENT     unknown: no mark of that name is loaded (and flags has no ESPY_MARK_LATER)
 *   -EPROTOTYPE wrong type: the callback's arguments differ from the mark's format; espy_mark_error() shows both
 *   -EBUSY      busy: this callback is already connected with this data, or the mark has 16 callbacks
 *   -EINVAL     malformed name, callback or flags
 *   -ENOTSUP    the agent does not run in this process
 *   -ENOMEM
 */
int espy_mark_connect(const char *name, const struct espy_mark_callback *callback, void *data, unsigned int flags);

/*
 * Disconnects a callback. Returns when no thread runs the callback any more: the program may then free the callback's data,
 * and unload its library. Returns 0; -ENOENT: the callback was not connected; -EDEADLK: the caller runs in a callback.
 */
int espy_mark_disconnect(const char *name, const struct espy_mark_callback *callback, void *data);

/* Returns the error of the last failed call of this thread, in words. The text is valid until the thread's next call. */
const char *espy_mark_error(void);

/* Starts the agent if it does not run (ESPY_AGENT=off, a raw fork). Returns 0 or -errno. */
int espy_agent_start(void);

#ifdef __cplusplus
}
#endif

/*
 * ESPY_MARK_CALLBACKn(name, function, type1, arg1, ..., typen, argn) declares `name`, for espy_mark_connect. The agent
 * calls function(data, arg1, ..., argn). The types are the types of the mark's arguments after the format. A `*` in the
 * format has an argument of its own, of type int. (n: 0 to 8.)
 */
#ifdef __cplusplus
extern "C++" {
namespace espy_mark_callback_
{
template <typename T> struct from {
	static T word(uint64_t w)
	{
		return (T)w;
	}
};
template <> struct from<double> {
	static double word(uint64_t w)
	{
		double d;
		__builtin_memcpy(&d, &w, sizeof(d));
		return d;
	}
};
template <unsigned size, bool is_signed> struct integer;
template <> struct integer<1, true> { static constexpr uint8_t type = 9; };
template <> struct integer<1, false> { static constexpr uint8_t type = 10; };
template <> struct integer<2, true> { static constexpr uint8_t type = 11; };
template <> struct integer<2, false> { static constexpr uint8_t type = 12; };
template <> struct integer<4, true> { static constexpr uint8_t type = 1; };
template <> struct integer<4, false> { static constexpr uint8_t type = 2; };
template <> struct integer<8, true> { static constexpr uint8_t type = 3; };
template <> struct integer<8, false> { static constexpr uint8_t type = 4; };
template <typename T, bool is_enum = __is_enum(T)> struct kind : integer<sizeof(T), ((T)-1 < (T)0)> {};
template <typename T> struct kind<T, true> : kind<__underlying_type(T)> {};
template <> struct kind<bool> : integer<1, false> {};
template <> struct kind<double> { static constexpr uint8_t type = 6; };
template <typename T> struct kind<T *, false> { static constexpr uint8_t type = 5; };
template <> struct kind<char *> { static constexpr uint8_t type = 7; };
template <> struct kind<const char *> { static constexpr uint8_t type = 7; };
}
}
#define ESPY_MARK_FROM_(t, w) espy_mark_callback_::from<t>::word(w)
#define ESPY_MARK_KIND_(t) espy_mark_callback_::kind<t>::type
#else
__attribute__((__unused__)) static inline double espy_mark_double_(uint64_t w)
{
	double d;
	__builtin_memcpy(&d, &w, sizeof(d));
	return d;
}
#define ESPY_MARK_FROM_(type, w) \
	__builtin_choose_expr(__builtin_types_compatible_p(type, double), espy_mark_double_(w), (type)(w))
#define ESPY_MARK_KIND_(type) \
	_Generic(*(type *)0, _Bool: 10, char: (char)-1 < 0 ? 9 : 10, signed char: 9, unsigned char: 10, short: 11, \
		unsigned short: 12, int: 1, unsigned int: 2, long: 3, unsigned long: 4, long long: 3, \
		unsigned long long: 4, double: 6, char *: 7, const char *: 7, default: 5)
#endif
#define ESPY_MARK_CALLBACK0(name, function) \
	static void name##_call_(void *data, const uint64_t *w) \
	{ \
		(void)w; \
		function(data); \
	} \
	static const uint8_t name##_types_[] = { 0 }; \
	static const struct espy_mark_callback name = { sizeof(struct espy_mark_callback), 0, "", \
		name##_types_, name##_call_ };
#define ESPY_MARK_CALLBACK1(name, function, t0, a0) \
	static void name##_call_(void *data, const uint64_t *w) \
	{ \
		(void)w; \
		function(data, ESPY_MARK_FROM_(t0, w[0])); \
	} \
	static const uint8_t name##_types_[] = { ESPY_MARK_KIND_(t0) }; \
	static const struct espy_mark_callback name = { sizeof(struct espy_mark_callback), 1, #t0 " " #a0, \
		name##_types_, name##_call_ };
#define ESPY_MARK_CALLBACK2(name, function, t0, a0, t1, a1) \
	static void name##_call_(void *data, const uint64_t *w) \
	{ \
		(void)w; \
		function(data, ESPY_MARK_FROM_(t0, w[0]), ESPY_MARK_FROM_(t1, w[1])); \
	} \
	static const uint8_t name##_types_[] = { ESPY_MARK_KIND_(t0), ESPY_MARK_KIND_(t1) }; \
	static const struct espy_mark_callback name = { sizeof(struct espy_mark_callback), 2, #t0 " " #a0 ", " #t1 \
		" " #a1, \
		name##_types_, name##_call_ };
#define ESPY_MARK_CALLBACK3(name, function, t0, a0, t1, a1, t2, a2) \
	static void name##_call_(void *data, const uint64_t *w) \
	{ \
		(void)w; \
		function(data, ESPY_MARK_FROM_(t0, w[0]), ESPY_MARK_FROM_(t1, w[1]), ESPY_MARK_FROM_(t2, w[2])); \
	} \
	static const uint8_t name##_types_[] = { ESPY_MARK_KIND_(t0), ESPY_MARK_KIND_(t1), ESPY_MARK_KIND_(t2) }; \
	static const struct espy_mark_callback name = { sizeof(struct espy_mark_callback), 3, #t0 " " #a0 ", " #t1 \
		" " #a1 ", " #t2 " " #a2, \
		name##_types_, name##_call_ };
#define ESPY_MARK_CALLBACK4(name, function, t0, a0, t1, a1, t2, a2, t3, a3) \
	static void name##_call_(void *data, const uint64_t *w) \
	{ \
		(void)w; \
		function(data, ESPY_MARK_FROM_(t0, w[0]), ESPY_MARK_FROM_(t1, w[1]), ESPY_MARK_FROM_(t2, w[2]), \
			ESPY_MARK_FROM_(t3, w[3])); \
	} \
	static const uint8_t name##_types_[] = { ESPY_MARK_KIND_(t0), ESPY_MARK_KIND_(t1), ESPY_MARK_KIND_(t2), \
		ESPY_MARK_KIND_(t3) }; \
	static const struct espy_mark_callback name = { sizeof(struct espy_mark_callback), 4, #t0 " " #a0 ", " #t1 \
		" " #a1 ", " #t2 " " #a2 ", " #t3 " " #a3, \
		name##_types_, name##_call_ };
#define ESPY_MARK_CALLBACK5(name, function, t0, a0, t1, a1, t2, a2, t3, a3, t4, a4) \
	static void name##_call_(void *data, const uint64_t *w) \
	{ \
		(void)w; \
		function(data, ESPY_MARK_FROM_(t0, w[0]), ESPY_MARK_FROM_(t1, w[1]), ESPY_MARK_FROM_(t2, w[2]), \
			ESPY_MARK_FROM_(t3, w[3]), ESPY_MARK_FROM_(t4, w[4])); \
	} \
	static const uint8_t name##_types_[] = { ESPY_MARK_KIND_(t0), ESPY_MARK_KIND_(t1), ESPY_MARK_KIND_(t2), \
		ESPY_MARK_KIND_(t3), ESPY_MARK_KIND_(t4) }; \
	static const struct espy_mark_callback name = { sizeof(struct espy_mark_callback), 5, #t0 " " #a0 ", " #t1 \
		" " #a1 ", " #t2 " " #a2 ", " #t3 " " #a3 ", " #t4 " " #a4, \
		name##_types_, name##_call_ };
#define ESPY_MARK_CALLBACK6(name, function, t0, a0, t1, a1, t2, a2, t3, a3, t4, a4, t5, a5) \
	static void name##_call_(void *data, const uint64_t *w) \
	{ \
		(void)w; \
		function(data, ESPY_MARK_FROM_(t0, w[0]), ESPY_MARK_FROM_(t1, w[1]), ESPY_MARK_FROM_(t2, w[2]), \
			ESPY_MARK_FROM_(t3, w[3]), ESPY_MARK_FROM_(t4, w[4]), ESPY_MARK_FROM_(t5, w[5])); \
	} \
	static const uint8_t name##_types_[] = { ESPY_MARK_KIND_(t0), ESPY_MARK_KIND_(t1), ESPY_MARK_KIND_(t2), \
		ESPY_MARK_KIND_(t3), ESPY_MARK_KIND_(t4), ESPY_MARK_KIND_(t5) }; \
	static const struct espy_mark_callback name = { sizeof(struct espy_mark_callback), 6, #t0 " " #a0 ", " #t1 \
		" " #a1 ", " #t2 " " #a2 ", " #t3 " " #a3 ", " #t4 " " #a4 ", " #t5 " " #a5, \
		name##_types_, name##_call_ };
#define ESPY_MARK_CALLBACK7(name, function, t0, a0, t1, a1, t2, a2, t3, a3, t4, a4, t5, a5, t6, a6) \
	static void name##_call_(void *data, const uint64_t *w) \
	{ \
		(void)w; \
		function(data, ESPY_MARK_FROM_(t0, w[0]), ESPY_MARK_FROM_(t1, w[1]), ESPY_MARK_FROM_(t2, w[2]), \
			ESPY_MARK_FROM_(t3, w[3]), ESPY_MARK_FROM_(t4, w[4]), ESPY_MARK_FROM_(t5, w[5]), \
			ESPY_MARK_FROM_(t6, w[6])); \
	} \
	static const uint8_t name##_types_[] = { ESPY_MARK_KIND_(t0), ESPY_MARK_KIND_(t1), ESPY_MARK_KIND_(t2), \
		ESPY_MARK_KIND_(t3), ESPY_MARK_KIND_(t4), ESPY_MARK_KIND_(t5), ESPY_MARK_KIND_(t6) }; \
	static const struct espy_mark_callback name = { sizeof(struct espy_mark_callback), 7, #t0 " " #a0 ", " #t1 \
		" " #a1 ", " #t2 " " #a2 ", " #t3 " " #a3 ", " #t4 " " #a4 ", " #t5 " " #a5 ", " #t6 " " #a6, \
		name##_types_, name##_call_ };
#define ESPY_MARK_CALLBACK8(name, function, t0, a0, t1, a1, t2, a2, t3, a3, t4, a4, t5, a5, t6, a6, t7, a7) \
	static void name##_call_(void *data, const uint64_t *w) \
	{ \
		(void)w; \
		function(data, ESPY_MARK_FROM_(t0, w[0]), ESPY_MARK_FROM_(t1, w[1]), ESPY_MARK_FROM_(t2, w[2]), \
			ESPY_MARK_FROM_(t3, w[3]), ESPY_MARK_FROM_(t4, w[4]), ESPY_MARK_FROM_(t5, w[5]), \
			ESPY_MARK_FROM_(t6, w[6]), ESPY_MARK_FROM_(t7, w[7])); \
	} \
	static const uint8_t name##_types_[] = { ESPY_MARK_KIND_(t0), ESPY_MARK_KIND_(t1), ESPY_MARK_KIND_(t2), \
		ESPY_MARK_KIND_(t3), ESPY_MARK_KIND_(t4), ESPY_MARK_KIND_(t5), ESPY_MARK_KIND_(t6), \
		ESPY_MARK_KIND_(t7) }; \
	static const struct espy_mark_callback name = { sizeof(struct espy_mark_callback), 8, #t0 " " #a0 ", " #t1 \
		" " #a1 ", " #t2 " " #a2 ", " #t3 " " #a3 ", " #t4 " " #a4 ", " #t5 " " #a5 ", " #t6 " " #a6 ", " \
		#t7 " " #a7, \
		name##_types_, name##_call_ };

#endif
