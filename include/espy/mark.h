/* SPDX-License-Identifier: MIT */
/*
 * Static markers. Mark a place:
 *
 *     MARK(app_request_done, "id=%d path=%s took=%f", id, path, seconds);
 *
 * A mark that is off is one 5-byte NOP: its arguments are not evaluated. Anyone who may look into the process switches
 * it on while the program runs (`espy trace -p PID -m 'app:request_done'`). This header needs no library: what it
 * leaves in the object is found by espy and by libespy-agent. What it does, costs and forbids: docs/markers.md.
 *
 *     MARK(name, format, ...)            an event
 *     MARK_IF(condition, name, format, ...)  the same; the condition too is evaluated only when the mark is on
 *     MARK_INLINE(name, statements)      code of your own that is jumped over until `name` is switched on
 *     MARK_ENABLED(name)                 1 while a mark of that name is wanted, else 0; costs the same NOP
 *
 * The part of the name before the first underscore is its subsystem: app_request_done is shown as app:request_done.
 * The compiler checks format and arguments as printf's. Conversions: integers of all sizes, %p, doubles, %s and %.*s
 * (bounded), and %*p: as many bytes as the int before the pointer says. At most 16 arguments.
 *
 * Before the #include:
 *     ESPY_NO_MARKS    every mark vanishes
 *     ESPY_MARK_USDT   0: no USDT note (gdb, perf, bpftrace and SystemTap do not see the marks). Default 1.
 *
 * C11/GNU11 and C++11 or later, gcc and clang, x86-64 ELF; elsewhere the marks vanish, and the formats are still checked.
 */
#ifndef ESPY_MARK_H
#define ESPY_MARK_H

#ifndef ESPY_MARK_USDT
#define ESPY_MARK_USDT 1
#endif
#if !defined(ESPY_NO_MARKS) && !(defined(__x86_64__) && defined(__ELF__) && !defined(__ILP32__))
#define ESPY_NO_MARKS 1
#endif

/* Never called: the compiler reads the format and the arguments. */
#ifdef __cplusplus
extern "C++" {
#endif
__attribute__((__format__(__printf__, 1, 2), __unused__)) static inline void espy_mark_check_(const char *format, ...)
{
	(void)format;
}
#ifdef __cplusplus
}
#endif

#ifdef ESPY_NO_MARKS

#define MARK(name, ...) \
	do { \
		if (0) \
			espy_mark_check_("." __VA_ARGS__); \
	} while (0)
#define MARK_IF(condition, name, ...) \
	do { \
		if (0 && (condition)) \
			espy_mark_check_("." __VA_ARGS__); \
	} while (0)
#define MARK_INLINE(name, ...) \
	do { \
		if (0) { \
			__VA_ARGS__; \
		} \
	} while (0)
#define MARK_ENABLED(name) 0

#else

/* The number of arguments after the format; m(number, 8 * number, separator, argument) for each of them. */
#define ESPY_MARK_CAT_(a, b) ESPY_MARK_CAT2_(a, b)
#define ESPY_MARK_CAT2_(a, b) a##b
#define ESPY_MARK_STR_(a) ESPY_MARK_STR2_(a)
#define ESPY_MARK_STR2_(a) #a
#define ESPY_MARK_N_(...) ESPY_MARK_N2_(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0)
#define ESPY_MARK_N2_(f, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, n, ...) n
#define ESPY_MARK_EACH_(m, ...) ESPY_MARK_CAT_(ESPY_MARK_E, ESPY_MARK_N_(__VA_ARGS__))(m, __VA_ARGS__)
#define ESPY_MARK_E0(m, f)
#define ESPY_MARK_E1(m, f, a0) m(0, 0, "", a0)
#define ESPY_MARK_E2(m, f, a0, a1) ESPY_MARK_E1(m, f, a0) m(1, 8, " ", a1)
#define ESPY_MARK_E3(m, f, a0, a1, a2) ESPY_MARK_E2(m, f, a0, a1) m(2, 16, " ", a2)
#define ESPY_MARK_E4(m, f, a0, a1, a2, a3) ESPY_MARK_E3(m, f, a0, a1, a2) m(3, 24, " ", a3)
#define ESPY_MARK_E5(m, f, a0, a1, a2, a3, a4) ESPY_MARK_E4(m, f, a0, a1, a2, a3) m(4, 32, " ", a4)
#define ESPY_MARK_E6(m, f, a0, a1, a2, a3, a4, a5) ESPY_MARK_E5(m, f, a0, a1, a2, a3, a4) m(5, 40, " ", a5)
#define ESPY_MARK_E7(m, f, a0, a1, a2, a3, a4, a5, a6) ESPY_MARK_E6(m, f, a0, a1, a2, a3, a4, a5) m(6, 48, " ", a6)
#define ESPY_MARK_E8(m, f, a0, a1, a2, a3, a4, a5, a6, a7) ESPY_MARK_E7(m, f, a0, a1, a2, a3, a4, a5, a6) m(7, 56, " \
	", a7)
#define ESPY_MARK_E9(m, f, a0, a1, a2, a3, a4, a5, a6, a7, a8) ESPY_MARK_E8(m, f, a0, a1, a2, a3, a4, a5, a6, a7) \
	m(8, 64, " ", a8)
#define ESPY_MARK_E10(m, f, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9) ESPY_MARK_E9(m, f, a0, a1, a2, a3, a4, a5, a6, \
	a7, a8) m(9, 72, " ", a9)
#define ESPY_MARK_E11(m, f, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) ESPY_MARK_E10(m, f, a0, a1, a2, a3, a4, a5, \
	a6, a7, a8, a9) m(10, 80, " ", a10)
#define ESPY_MARK_E12(m, f, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) ESPY_MARK_E11(m, f, a0, a1, a2, a3, \
	a4, a5, a6, a7, a8, a9, a10) m(11, 88, " ", a11)
#define ESPY_MARK_E13(m, f, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) ESPY_MARK_E12(m, f, a0, a1, a2, \
	a3, a4, a5, a6, a7, a8, a9, a10, a11) m(12, 96, " ", a12)
#define ESPY_MARK_E14(m, f, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13) ESPY_MARK_E13(m, f, a0, a1, \
	a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) m(13, 104, " ", a13)
#define ESPY_MARK_E15(m, f, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14) ESPY_MARK_E14(m, f, a0, \
	a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13) m(14, 112, " ", a14)
#define ESPY_MARK_E16(m, f, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15) ESPY_MARK_E15(m, \
	f, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14) m(15, 120, " ", a15)

/* Types of arguments: the numbers of enum espy_mark_arg in espy's record.h. */
#define ESPY_MARK_TYPES_(...) (0ull ESPY_MARK_EACH_(ESPY_MARK_TYPE1_, __VA_ARGS__))
#define ESPY_MARK_TYPE1_(i, off, sep, a) | ((unsigned long long)ESPY_MARK_TYPE_(a) << (off / 2))
/* Size of an argument as a USDT note writes it: negative if signed. */
#define ESPY_MARK_SIZE_(t) \
	((t) == 1 ? -4 : (t) == 2 ? 4 : (t) == 3 ? -8 : (t) == 9 ? -1 : (t) == 10 ? 1 : (t) == 11 ? -2 : (t) == 12 ? 2 : 8)

#ifdef __cplusplus

extern "C++" {
namespace espy_mark
{
template <unsigned size, bool is_signed> struct integer;
template <> struct integer<1, true> { static constexpr unsigned long long type = 9; };
template <> struct integer<1, false> { static constexpr unsigned long long type = 10; };
template <> struct integer<2, true> { static constexpr unsigned long long type = 11; };
template <> struct integer<2, false> { static constexpr unsigned long long type = 12; };
template <> struct integer<4, true> { static constexpr unsigned long long type = 1; };
template <> struct integer<4, false> { static constexpr unsigned long long type = 2; };
template <> struct integer<8, true> { static constexpr unsigned long long type = 3; };
template <> struct integer<8, false> { static constexpr unsigned long long type = 4; };

/* Integers and enums. */
template <typename T> struct arg : integer<sizeof(T), (static_cast<T>(-1) < static_cast<T>(0))> {
	static unsigned long long word(T value)
	{
		return static_cast<unsigned long long>(value);
	}
};
template <> struct arg<bool> : integer<1, false> {
	static unsigned long long word(bool value)
	{
		return value;
	}
};
struct real {
	static constexpr unsigned long long type = 6;
	static unsigned long long word(double value)
	{
		unsigned long long bits;
		__builtin_memcpy(&bits, &value, sizeof(bits));
		return bits;
	}
};
template <> struct arg<float> : real {};
template <> struct arg<double> : real {};
template <> struct arg<long double> : real {};
template <typename T, unsigned long long number> struct address {
	static constexpr unsigned long long type = number;
	static unsigned long long word(T value)
	{
		return reinterpret_cast<unsigned long long>(value);
	}
};
template <typename T> struct arg<T *> : address<T *, 5> {};
template <> struct arg<decltype(nullptr)> : address<decltype(nullptr), 5> {};
template <> struct arg<char *> : address<char *, 7> {};
template <> struct arg<const char *> : address<const char *, 7> {};
template <> struct arg<signed char *> : address<signed char *, 7> {};
template <> struct arg<const signed char *> : address<const signed char *, 7> {};
template <> struct arg<unsigned char *> : address<unsigned char *, 7> {};
template <> struct arg<const unsigned char *> : address<const unsigned char *, 7> {};

/* By value, as through `...`: arrays become pointers, qualifiers go. Only its type is asked for. */
template <typename T> arg<T> arg_of(T);
template <typename T> inline __attribute__((__always_inline__)) unsigned long long word(T value)
{
	return arg<T>::word(value);
}
} // namespace espy_mark
}
#define ESPY_MARK_TYPE_(a) (decltype(espy_mark::arg_of(a))::type)
#define ESPY_MARK_WORD_(a) espy_mark::word(a)

#else

#define ESPY_MARK_TYPE_(a) \
	_Generic((a), _Bool: 10, char: (char)-1 < 0 ? 9 : 10, signed char: 9, unsigned char: 10, short: 11, \
		unsigned short: 12, int: 1, unsigned int: 2, long: 3, unsigned long: 4, long long: 3, \
		unsigned long long: 4, float: 6, double: 6, long double: 6, char *: 7, const char *: 7, \
		signed char *: 7, const signed char *: 7, unsigned char *: 7, const unsigned char *: 7, default: 5)
#define ESPY_MARK_REAL_(a) _Generic((a), float: 1, double: 1, long double: 1, default: 0)
/* Each branch has to compile for every type; the argument is evaluated once. */
#define ESPY_MARK_WORD_(a) \
	__builtin_choose_expr(ESPY_MARK_REAL_(a), espy_mark_bits_(__builtin_choose_expr(ESPY_MARK_REAL_(a), a, 0.0)), \
		(unsigned long long)(__builtin_choose_expr(ESPY_MARK_REAL_(a), 0, a)))
__attribute__((__unused__)) static inline unsigned long long espy_mark_bits_(double value)
{
	unsigned long long bits;
	__builtin_memcpy(&bits, &value, sizeof(bits));
	return bits;
}

#endif

/*
 * What goes into the object. Sections are as struct espy_mark_note, espy_site and espy_mark of espy's agent/abi.h describe
 * them. A mark's record is shared by all copies of its code in one assembler file, and its label made of all that it
 * holds: .ifndef keeps the first (link-time optimisation puts several source files into one assembler file).
 */
#define ESPY_MARK_NOTE_ \
	".ifndef .Lespy_note\n" \
	".weak __start_espy_sites, __stop_espy_sites, __start_espy_marks, __stop_espy_marks, espy_mark_hook_1\n" \
	".hidden __start_espy_sites, __stop_espy_sites, __start_espy_marks, __stop_espy_marks, espy_mark_hook_1\n" \
	".pushsection .note.espy,\"a\",@note\n" \
	".balign 4\n" \
	".long 5, 24, 1\n" \
	".asciz \"espy\"\n" \
	".balign 4\n" \
	".Lespy_note: .long 1\n" \
	".long __start_espy_sites-., __stop_espy_sites-., __start_espy_marks-., __stop_espy_marks-., espy_mark_hook_1-.\n" \
	".popsection\n" \
	".pushsection .data.espy_mark_hook_1,\"aw\",@progbits\n" \
	".balign 8\n" \
	"espy_mark_hook_1: .quad 0\n" \
	".popsection\n" \
	".endif\n"

/* label: of the record; what: enum espy_mark_what. Operands: espy_types, espy_nargs, espy_file. */
#define ESPY_MARK_RECORD_(name, label, format, what) \
	ESPY_MARK_NOTE_ \
	".ifndef " label "\n" \
	".pushsection .rodata.espy_names,\"aMS\",@progbits,1\n" \
	label "_name: .asciz \"" #name "\"\n" \
	".popsection\n" \
	".pushsection espy_marks,\"aw\",@progbits\n" \
	".balign 8\n" \
	label ": .long " label "_name-., " format ", %c[espy_file]-., " ESPY_MARK_STR_(__LINE__) "\n" \
	".quad %c[espy_types] + (%c[espy_types1] << 24) + (%c[espy_types2] << 48)\n" \
	".byte %c[espy_nargs], " #what "\n" \
	".short 48\n" \
	".long 0\n" \
	".quad 0, 0\n" \
	".popsection\n" \
	".endif\n"

/* The NOP never crosses a multiple of 8, so that one store replaces it. */
#define ESPY_MARK_SITE_(label) \
	".p2align 3,,4\n" \
	".Lespy_site%=: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n" \
	".pushsection espy_sites,\"ao?\",@progbits,.Lespy_site%=\n" \
	".balign 4\n" \
	".long .Lespy_site%=-., %l[espy_on]-., " label "-., 0\n" \
	".popsection\n"

/* Events are told apart by all that they hold; the other kinds by their place. */
#define ESPY_MARK_EVENT_(name) ".Lespy_" #name "_" ESPY_MARK_STR_(__LINE__) "_%c[espy_types]_%c[espy_types1]_%c[espy_types2]_%c[espy_format]"
#define ESPY_MARK_PLACE_(name, what) ".Lespy_" #name "_" ESPY_MARK_STR_(__LINE__) "_" #what "_%c[espy_file]"

/*
 * A USDT note for gdb, perf, bpftrace and SystemTap, at a NOP of its own: an address must never carry both the agent's
 * jump and a kernel uprobe. It lies in the cold block, where the arguments are: it is hit while the mark is on. They
 * are described as places in memory, %rax being the address of the first.
 */
#if ESPY_MARK_USDT
#define ESPY_MARK_USDT_(name, ...) \
	".ifndef _.stapsdt.base\n" \
	".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
	".weak _.stapsdt.base\n" \
	".hidden _.stapsdt.base\n" \
	"_.stapsdt.base: .space 1\n" \
	".size _.stapsdt.base, 1\n" \
	".popsection\n" \
	".endif\n" \
	".Lespy_usdt%=: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n" \
	".pushsection .note.stapsdt,\"?\",@note\n" \
	".balign 4\n" \
	".long 8, .Lespy_usdt_end%=-.Lespy_usdt_desc%=, 3\n" \
	".asciz \"stapsdt\"\n" \
	".Lespy_usdt_desc%=: .quad .Lespy_usdt%=, _.stapsdt.base, 0\n" \
	".set .Lespy_split, 0\n" \
	".irpc espy_char, " #name "\n" \
	".ifc \\espy_char,_\n" \
	".if .Lespy_split\n" \
	".ascii \"_\"\n" \
	".else\n" \
	".byte 0\n" \
	".set .Lespy_split, 1\n" \
	".endif\n" \
	".else\n" \
	".ascii \"\\espy_char\"\n" \
	".endif\n" \
	".endr\n" \
	".if .Lespy_split == 0\n" \
	".ascii \"\\0" #name "\"\n" \
	".endif\n" \
	".asciz \"\"\n" \
	".asciz \"" ESPY_MARK_EACH_(ESPY_MARK_USDT1_, __VA_ARGS__) "\"\n" \
	".Lespy_usdt_end%=: .balign 4\n" \
	".popsection\n"
#define ESPY_MARK_USDT1_(i, off, sep, a) sep "%c[espy_size" #i "]@" #off "(%%rax)"
#define ESPY_MARK_USDT_OPERANDS_(...) ESPY_MARK_EACH_(ESPY_MARK_USDT2_, __VA_ARGS__)
#define ESPY_MARK_USDT2_(i, off, sep, a) , [espy_size##i] "i"(ESPY_MARK_SIZE_(ESPY_MARK_TYPE_(a)))
#else
#define ESPY_MARK_USDT_(name, ...)
#define ESPY_MARK_USDT_OPERANDS_(...)
#endif

#define ESPY_MARK_WORD1_(i, off, sep, a) ESPY_MARK_WORD_(a),

/*
 * The cold block: arguments into memory, then the hook of this object, if an agent has set one. It is called with %rax =
 * the arguments, %r11 = the mark's record; it keeps every other register, so that the compiler need not know of a
 * call. The red zone below %rsp may hold variables.
 */
#define ESPY_MARK_CALL_(name, types, ...) \
	unsigned long long espy_words_[] = { ESPY_MARK_EACH_(ESPY_MARK_WORD1_, __VA_ARGS__) 0 }; \
	unsigned long long *espy_first_ = espy_words_; \
	if (0) \
		espy_mark_check_("." __VA_ARGS__); \
	__asm__ __volatile__(ESPY_MARK_RECORD_(name, ESPY_MARK_EVENT_(name), "%c[espy_format]-.", 0) \
			     ESPY_MARK_USDT_(name, __VA_ARGS__) \
			     "cmpq $0, espy_mark_hook_1(%%rip)\n" \
			     "je .Lespy_done%=\n" \
			     "lea " ESPY_MARK_EVENT_(name) "(%%rip), %%r11\n" \
			     "lea -128(%%rsp), %%rsp\n" \
			     "call *espy_mark_hook_1(%%rip)\n" \
			     "lea 128(%%rsp), %%rsp\n" \
			     ".Lespy_done%=:\n" \
			     : "+a"(espy_first_) \
			     : ESPY_MARK_OPERANDS_(types, __VA_ARGS__) ESPY_MARK_USDT_OPERANDS_(__VA_ARGS__) \
			     : "r11", "cc", "memory")

#define ESPY_MARK_FIRST_(f, ...) f
#define ESPY_MARK_OPERANDS_(types, ...) \
	ESPY_MARK_TYPES_OPERANDS_(types), [espy_nargs] "i"(ESPY_MARK_N_(__VA_ARGS__)), [espy_file] "i"(__FILE__), \
		[espy_format] "i"(ESPY_MARK_FIRST_(__VA_ARGS__, 0))
#define ESPY_MARK_PLACE_OPERANDS_ ESPY_MARK_TYPES_OPERANDS_(0ull), [espy_nargs] "i"(0), [espy_file] "i"(__FILE__)
/* In parts: gcc prints no constant that would not do as an address. */
#define ESPY_MARK_TYPES_OPERANDS_(types) \
	[espy_types] "i"((types)&0xffffff), [espy_types1] "i"((types) >> 24 & 0xffffff), [espy_types2] "i"((types) >> 48)

#ifdef __cplusplus

/*
 * A function of its own for the jump: older clang refuses `asm goto` in one whose variables have destructors. The
 * compiler turns the bool back into the jump.
 */
#define ESPY_MARK_SITE_STRUCT_(site, ...) \
	struct espy_site_ { \
		static inline __attribute__((__always_inline__)) bool on() \
		{ \
			__asm__ goto(site : : __VA_ARGS__ : : espy_on); \
			return false; \
		espy_on: \
			return true; \
		} \
	}

#define MARK_IF(condition, name, ...) \
	do { \
		enum : unsigned long long { espy_types_ = ESPY_MARK_TYPES_(__VA_ARGS__) }; \
		ESPY_MARK_SITE_STRUCT_(ESPY_MARK_RECORD_(name, ESPY_MARK_EVENT_(name), "%c[espy_format]-.", 0) \
					       ESPY_MARK_SITE_(ESPY_MARK_EVENT_(name)), \
				       ESPY_MARK_OPERANDS_(espy_types_, __VA_ARGS__)); \
		if (__builtin_expect(espy_site_::on(), 0)) { \
			if (condition) { \
				ESPY_MARK_CALL_(name, espy_types_, __VA_ARGS__); \
			} \
		} \
	} while (0)
#define MARK_INLINE(name, ...) \
	do { \
		if (__builtin_expect(ESPY_MARK_PLACE_ON_(name, 1), 0)) { \
			__VA_ARGS__; \
		} \
	} while (0)
#define MARK_ENABLED(name) ESPY_MARK_PLACE_ON_(name, 2)
#define ESPY_MARK_PLACE_ON_(name, what) \
	__extension__({ \
		ESPY_MARK_SITE_STRUCT_(ESPY_MARK_RECORD_(name, ESPY_MARK_PLACE_(name, what), "0", what) \
					       ESPY_MARK_SITE_(ESPY_MARK_PLACE_(name, what)), \
				       ESPY_MARK_PLACE_OPERANDS_); \
		espy_site_::on(); \
	})

#else

#ifdef __clang__
#define ESPY_MARK_COLD_
#else
#define ESPY_MARK_COLD_ __attribute__((__cold__))
#endif

#define MARK_IF(condition, name, ...) \
	__extension__({ \
		__label__ espy_on, espy_off; \
		__asm__ goto(ESPY_MARK_RECORD_(name, ESPY_MARK_EVENT_(name), "%c[espy_format]-.", 0) \
				     ESPY_MARK_SITE_(ESPY_MARK_EVENT_(name)) \
			     : : ESPY_MARK_OPERANDS_(ESPY_MARK_TYPES_(__VA_ARGS__), __VA_ARGS__) : : espy_on); \
		goto espy_off; \
	espy_on: \
		ESPY_MARK_COLD_; \
		if (condition) { \
			ESPY_MARK_CALL_(name, ESPY_MARK_TYPES_(__VA_ARGS__), __VA_ARGS__); \
		} \
	espy_off:; \
	})
#define MARK_INLINE(name, ...) \
	__extension__({ \
		__label__ espy_on, espy_off; \
		__asm__ goto(ESPY_MARK_RECORD_(name, ESPY_MARK_PLACE_(name, 1), "0", 1) \
				     ESPY_MARK_SITE_(ESPY_MARK_PLACE_(name, 1)) \
			     : : ESPY_MARK_PLACE_OPERANDS_ : : espy_on); \
		goto espy_off; \
	espy_on: \
		ESPY_MARK_COLD_; \
		{ \
			__VA_ARGS__; \
		} \
	espy_off:; \
	})
#define MARK_ENABLED(name) \
	__extension__({ \
		__label__ espy_on, espy_off; \
		int espy_is_on_ = 0; \
		__asm__ goto(ESPY_MARK_RECORD_(name, ESPY_MARK_PLACE_(name, 2), "0", 2) \
				     ESPY_MARK_SITE_(ESPY_MARK_PLACE_(name, 2)) \
			     : : ESPY_MARK_PLACE_OPERANDS_ : : espy_on); \
		goto espy_off; \
	espy_on: \
		ESPY_MARK_COLD_; \
		espy_is_on_ = 1; \
	espy_off: \
		espy_is_on_; \
	})

#endif

#define MARK(name, ...) MARK_IF(1, name, __VA_ARGS__)

#endif /* ESPY_NO_MARKS */
#endif
