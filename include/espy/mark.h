/* SPDX-License-Identifier: MIT */
/*
 * Static markers. Mark a place:
 *
 *     MARK(app_request_done, "id=%d path=%s took=%f", id, path, seconds);
 *
 * A mark that is off is one 5-byte NOP: the program does not evaluate its arguments. Any user who may look into the process
 * can switch it on while the program runs (`espy trace -p PID -m 'app:request_done'`). This header needs no library: espy
 * and libespy-agent find what it leaves in the object. docs/markers.md says what a mark does, costs and forbids.
 *
 *     MARK(name, format, ...)            an event
 *     MARK_IF(condition, name, format, ...)  an event; the condition, too, is evaluated only when the mark is on
 *     MARK_INLINE(name, statements)      code of your own that the program jumps over until `name` is switched on
 *     MARK_ENABLED(name)                 1 while a mark of that name is wanted, else 0; costs the same NOP
 *
 * The part of the name before the first underscore is its subsystem: espy shows app_request_done as app:request_done. The
 * compiler checks format and arguments as it checks printf's. Conversions: integers of all sizes, %p, doubles, %s and %.*s
 * (bounded), and %*p: as many bytes as the int before the pointer says. At most 16 arguments.
 *
 * Before the #include:
 *     ESPY_NO_MARKS    every mark vanishes
 *     ESPY_MARK_USDT   how gdb, perf, bpftrace and SystemTap see the marks. 0: not at all (no USDT notes). 1, the
 *                      default: these tools list the marks, and see their events if the agent is in the program.
 *                      2: these tools see the events without an agent, too. Each mark then takes a load, a comparison
 *                      and a jump besides the NOP.
 *     ESPY_MARK_GOTO   0: do without `asm goto`. In C, clang before 17 refuses it ("cannot jump from this asm goto
 *                      statement") beside variables with a cleanup or of changing size. Each mark then takes a
 *                      comparison and a jump besides the NOP.
 *
 * C11/GNU11 and C++11 or later, gcc and clang, x86-64 ELF. Elsewhere the marks vanish; the compiler still checks the
 * formats.
 */
#ifndef ESPY_MARK_H
#define ESPY_MARK_H

#ifndef ESPY_MARK_USDT
#define ESPY_MARK_USDT 1
#endif
#ifndef ESPY_MARK_GOTO
#define ESPY_MARK_GOTO 1
#endif
#if !defined(ESPY_NO_MARKS) && !(defined(__x86_64__) && defined(__ELF__) && !defined(__ILP32__))
#define ESPY_NO_MARKS 1
#endif

#if !defined(ESPY_NO_MARKS) && defined(__code_model_large__)
#error "marks cannot be compiled with -mcmodel=large; define ESPY_NO_MARKS for this file"
#endif

/* The program never calls this function: the compiler checks the format and the arguments by its attribute. */
#ifdef __cplusplus
extern "C++" {
#endif
__attribute__((__format__(__printf__, 1, 2))) static inline void espy_mark_check_(const char *format, ...)
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

/*
 * ESPY_MARK_N_: the number of arguments after the format. ESPY_MARK_WIDE_: 1 if they are more than 7. ESPY_MARK_EACH_:
 * m(number, 8 * number, argument) for each.
 */
#define ESPY_MARK_CAT_(a, b) ESPY_MARK_CAT2_(a, b)
#define ESPY_MARK_CAT2_(a, b) a##b
#define ESPY_MARK_STR_(a) ESPY_MARK_STR2_(a)
#define ESPY_MARK_STR2_(a) #a
#define ESPY_MARK_N_(...) \
	ESPY_MARK_N2_(__VA_ARGS__, _at_most_16_arguments, _at_most_16_arguments, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, \
		      3, 2, 1, 0, 0)
#define ESPY_MARK_WIDE_(...) ESPY_MARK_N2_(__VA_ARGS__, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
#define ESPY_MARK_N2_(f, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, n, ...) n
#define ESPY_MARK_EACH_(m, ...) ESPY_MARK_CAT_(ESPY_MARK_E, ESPY_MARK_N_(__VA_ARGS__))(m, __VA_ARGS__)
#define ESPY_MARK_E0(m, f)
#define ESPY_MARK_E1(m, f, a0) m(0, 0, a0)
#define ESPY_MARK_E2(m, f, a0, a1) ESPY_MARK_E1(m, f, a0) m(1, 8, a1)
#define ESPY_MARK_E3(m, f, a0, a1, a2) ESPY_MARK_E2(m, f, a0, a1) m(2, 16, a2)
#define ESPY_MARK_E4(m, f, a0, a1, a2, a3) ESPY_MARK_E3(m, f, a0, a1, a2) m(3, 24, a3)
#define ESPY_MARK_E5(m, f, a0, a1, a2, a3, a4) ESPY_MARK_E4(m, f, a0, a1, a2, a3) m(4, 32, a4)
#define ESPY_MARK_E6(m, f, a0, a1, a2, a3, a4, a5) ESPY_MARK_E5(m, f, a0, a1, a2, a3, a4) m(5, 40, a5)
#define ESPY_MARK_E7(m, f, a0, a1, a2, a3, a4, a5, a6) ESPY_MARK_E6(m, f, a0, a1, a2, a3, a4, a5) m(6, 48, a6)
#define ESPY_MARK_E8(m, f, a0, a1, a2, a3, a4, a5, a6, a7) ESPY_MARK_E7(m, f, a0, a1, a2, a3, a4, a5, a6) m(7, 56, a7)
#define ESPY_MARK_E9(m, f, a0, a1, a2, a3, a4, a5, a6, a7, a8) ESPY_MARK_E8(m, f, a0, a1, a2, a3, a4, a5, a6, a7) \
	m(8, 64, a8)
#define ESPY_MARK_E10(m, f, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9) ESPY_MARK_E9(m, f, a0, a1, a2, a3, a4, a5, a6, \
	a7, a8) m(9, 72, a9)
#define ESPY_MARK_E11(m, f, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) ESPY_MARK_E10(m, f, a0, a1, a2, a3, a4, a5, \
	a6, a7, a8, a9) m(10, 80, a10)
#define ESPY_MARK_E12(m, f, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) ESPY_MARK_E11(m, f, a0, a1, a2, a3, \
	a4, a5, a6, a7, a8, a9, a10) m(11, 88, a11)
#define ESPY_MARK_E13(m, f, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) ESPY_MARK_E12(m, f, a0, a1, a2, \
	a3, a4, a5, a6, a7, a8, a9, a10, a11) m(12, 96, a12)
#define ESPY_MARK_E14(m, f, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13) ESPY_MARK_E13(m, f, a0, a1, \
	a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) m(13, 104, a13)
#define ESPY_MARK_E15(m, f, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14) ESPY_MARK_E14(m, f, a0, \
	a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13) m(14, 112, a14)
#define ESPY_MARK_E16(m, f, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15) ESPY_MARK_E15(m, \
	f, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14) m(15, 120, a15)

/*
 * The types of all arguments, 4 bits each from the first on: the numbers of enum espy_mark_arg in espy's record.h. The
 * compiler works them out only once for each mark: the expressions are long and slow to compile.
 */
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

/* Integers, and enums by the integer that holds them: -1 need not be a value of an enum. */
template <typename T, bool is_enum = __is_enum(T)>
struct arg : integer<sizeof(T), (static_cast<T>(-1) < static_cast<T>(0))> {
	static unsigned long long word(T value)
	{
		return static_cast<unsigned long long>(value);
	}
};
template <typename T> struct arg<T, true> {
	static constexpr unsigned long long type = arg<__underlying_type(T)>::type;
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
template <typename T> struct arg<T *, false> : address<T *, 5> {};
template <> struct arg<decltype(nullptr)> : address<decltype(nullptr), 5> {};
template <> struct arg<char *> : address<char *, 7> {};
template <> struct arg<const char *> : address<const char *, 7> {};
template <> struct arg<signed char *> : address<signed char *, 7> {};
template <> struct arg<const signed char *> : address<const signed char *, 7> {};
template <> struct arg<unsigned char *> : address<unsigned char *, 7> {};
template <> struct arg<const unsigned char *> : address<const unsigned char *, 7> {};

template <typename... T> struct list {
	static constexpr unsigned long long types = 0;
};
template <typename T, typename... More> struct list<T, More...> {
	static constexpr unsigned long long types = arg<T>::type | list<More...>::types << 4;
};
/* Takes its arguments by value, as through `...`: arrays become pointers, qualifiers go. The header uses only its return type. */
template <typename... T> list<T...> list_of(const char *format, T...);
template <typename T> inline __attribute__((__always_inline__)) unsigned long long word(T value)
{
	return arg<T>::word(value);
}
} // namespace espy_mark
}
#define ESPY_MARK_TYPES_(...) typedef decltype(espy_mark::list_of(__VA_ARGS__)) espy_list_
#define ESPY_MARK_TYPES_OF_ espy_list_::types
#define ESPY_MARK_WORD_(i, off, a) espy_mark::word(a)

#else

#define ESPY_MARK_TYPES_(...) \
	__extension__ enum { \
		ESPY_MARK_EACH_(ESPY_MARK_TYPE_, __VA_ARGS__) \
		espy_types_ = 0ull ESPY_MARK_EACH_(ESPY_MARK_TYPE1_, __VA_ARGS__) \
	}
#define ESPY_MARK_TYPES_OF_ (0ull | espy_types_)
/*
 * The type of an argument. The compiler refuses an int of 16 bytes, because (void)0 is no constant. A type that is not in
 * the list is a pointer, or a bit-field of gcc's.
 */
#define ESPY_MARK_TYPE_(i, off, a) \
	espy_type##i##_ = _Generic((a), _Bool: 10, char: (char)-1 < 0 ? 9 : 10, signed char: 9, unsigned char: 10, \
		short: 11, unsigned short: 12, int: 1, unsigned int: 2, long: 3, unsigned long: 4, long long: 3, \
		unsigned long long: 4, float: 6, double: 6, long double: 6, char *: 7, const char *: 7, \
		signed char *: 7, const signed char *: 7, unsigned char *: 7, const unsigned char *: 7, \
		__int128: (void)0, unsigned __int128: (void)0, default: __builtin_classify_type(a) == 5 ? 5 : 3),
#define ESPY_MARK_TYPE1_(i, off, a) | (unsigned long long)espy_type##i##_ << off / 2
/* The 8 bytes of an argument. Each branch has to compile for every type. The program evaluates the argument once. */
#define ESPY_MARK_WORD_(i, off, a) \
	__builtin_choose_expr(espy_type##i##_ == 6, espy_mark_bits_(__builtin_choose_expr(espy_type##i##_ == 6, a, 0.0)), \
		(unsigned long long)(__builtin_choose_expr(espy_type##i##_ == 6, 0, a)))
static inline unsigned long long espy_mark_bits_(double value)
{
	unsigned long long bits;
	__builtin_memcpy(&bits, &value, sizeof(bits));
	return bits;
}

#endif

/*
 * The contents that the header puts into the object. struct espy_mark_note, espy_site and espy_mark of espy's agent/abi.h describe the
 * sections. All copies of a mark's code in one assembler file share the mark's record. The record's label consists of all
 * that the record holds; .ifndef keeps the first record of a label. Link-time optimisation puts several source files into
 * one assembler file, and parts of one source file into several. Hence each statement brings the record that it refers to.
 * Each statement writes the label once; \espy_r stands for it. <sys/sdt.h> leaves the assembler in a mode in which that
 * fails, hence .noaltmacro.
 * The asm has few operands, and `;` where a line could end: clang looks for the place in the source of each line of an asm
 * statement. That alone took a fifth of the compile time of a mark.
 */
#define ESPY_MARK_NOTE_ \
	".ifndef .Lespy_note;" \
	".weak __start_espy_sites, __stop_espy_sites, __start_espy_marks, __stop_espy_marks, espy_mark_hook_1;" \
	".hidden __start_espy_sites, __stop_espy_sites, __start_espy_marks, __stop_espy_marks, espy_mark_hook_1;" \
	".pushsection .note.espy,\"a\",@note;" \
	".balign 4;" \
	".long 5, 24, 1;" \
	".asciz \"espy\";" \
	".balign 4;" \
	".Lespy_note: .long 1;" \
	".long __start_espy_sites-., __stop_espy_sites-., __start_espy_marks-., __stop_espy_marks-., espy_mark_hook_1-.;" \
	".popsection;" \
	".pushsection .data.espy_mark_hook_1,\"aw\",@progbits;" \
	".balign 8;" \
	"espy_mark_hook_1: .quad 0;" \
	".popsection;" \
	".endif;"

/*
 * The record: from the beginning of a statement up to its ESPY_MARK_END_. format, semaphore: fields of the record.
 * Operands: espy_file, and the operands in types.
 */
#define ESPY_MARK_RECORD_(name, label, format, types, nargs, what, semaphore, semaphore_here) \
	".noaltmacro; .irp espy_r, .Lespy_" #name "_" ESPY_MARK_STR_(__LINE__) "_" label ";" \
	".ifndef \\espy_r;" semaphore_here "\
	.pushsection .rodata.espy_names,\"aMS\",@progbits,1;" \
	"\\espy_r\\()n: .asciz \"" #name "\";" \
	".popsection;" \
	".pushsection espy_marks,\"aw\",@progbits;" \
	".balign 8;" \
	"\\espy_r: .long \\espy_r\\()n-., " format ", %c[espy_file]-., " ESPY_MARK_STR_(__LINE__) ";" \
	".quad " types ";" \
	".byte " ESPY_MARK_STR_(nargs) ", " #what ";" \
	".short 48;" \
	".long 0;" \
	".quad 0;" \
	".long " semaphore ", 0;" \
	".popsection;" \
	".endif;"
#define ESPY_MARK_END_ ".endr;"

/* The site. Its NOP never crosses a multiple of 8, so that one store replaces it. */
#define ESPY_MARK_SITE_ ESPY_MARK_SITE_TO_("%l[espy_on]")
#define ESPY_MARK_SITE_TO_(target) ESPY_MARK_NOTE_ \
	".p2align 3,,4;" \
	".Lespy_site%=: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00;" \
	".pushsection espy_sites,\"ao?\",@progbits,.Lespy_site%=;" \
	".balign 4;" \
	".long .Lespy_site%=-., " target "-., \\espy_r-., 0;" \
	".popsection;"

/* The label of an event consists of all that its record holds. The label of the other kinds consists of their place. */
#define ESPY_MARK_EVENT_(name, ...) ESPY_MARK_EVENT2_(name, ESPY_MARK_WIDE_(__VA_ARGS__), ESPY_MARK_N_(__VA_ARGS__))
#define ESPY_MARK_EVENT2_(name, wide, nargs) \
	ESPY_MARK_RECORD_(name, ESPY_MARK_CAT_(ESPY_MARK_LABEL, wide) "_%c[espy_format]", "%c[espy_format]-.", \
			  ESPY_MARK_CAT_(ESPY_MARK_QUAD, wide), nargs, 0, ESPY_MARK_SEMAPHORE_, ESPY_MARK_SEMAPHORE_HERE_)
#define ESPY_MARK_PLACE_(name, what) ESPY_MARK_RECORD_(name, #what "_%c[espy_file]", "0", "0", 0, what, "0", "")

/* The types, in parts if there are more than 7: gcc prints no constant that is too large for an address. */
#define ESPY_MARK_LABEL0 "%c[espy_types]"
#define ESPY_MARK_LABEL1 "%c[espy_types]_%c[espy_types1]_%c[espy_types2]"
#define ESPY_MARK_QUAD0 "%c[espy_types]"
#define ESPY_MARK_QUAD1 "%c[espy_types] + (%c[espy_types1] << 24) + (%c[espy_types2] << 48)"
#define ESPY_MARK_OPERANDS0 [espy_types] "i"(ESPY_MARK_TYPES_OF_)
#define ESPY_MARK_OPERANDS1 \
	[espy_types] "i"(ESPY_MARK_TYPES_OF_ & 0xffffff), [espy_types1] "i"(ESPY_MARK_TYPES_OF_ >> 24 & 0xffffff), \
		[espy_types2] "i"(ESPY_MARK_TYPES_OF_ >> 48)
#define ESPY_MARK_FIRST_(f, ...) f
#define ESPY_MARK_EVENT_OPERANDS_(...) \
	ESPY_MARK_CAT_(ESPY_MARK_OPERANDS, ESPY_MARK_WIDE_(__VA_ARGS__)), [espy_file] "i"(__FILE__), \
		[espy_format] "i"(ESPY_MARK_FIRST_(__VA_ARGS__, 0))
#define ESPY_MARK_PLACE_OPERANDS_ [espy_file] "i"(__FILE__)

/*
 * A USDT note for gdb, perf, bpftrace and SystemTap. It has a NOP of its own: an address must never carry both the agent's
 * jump and a kernel uprobe. This NOP lies in the cold block, where the arguments are. The note describes them as places in
 * memory, with the address of the first in %rax: "-4@0(%rax) 8@8(%rax)", bytes, negative if signed. While a tool watches
 * the mark, the mark's semaphore is not 0. The agent sees the semaphore and switches the mark on, or (ESPY_MARK_USDT 2) the
 * site tests the semaphore itself. The note splits the name at the first underscore.
 */
#if ESPY_MARK_USDT
#define ESPY_MARK_SEMAPHORE_ "\\espy_r\\()s-."
#define ESPY_MARK_SEMAPHORE_HERE_ \
	".pushsection .probes,\"aw\",@progbits;" \
	".balign 2;" \
	"\\espy_r\\()s: .short 0;" \
	".popsection;"
#define ESPY_MARK_USDT_(name, ...) \
	ESPY_MARK_USDT2_(name, ESPY_MARK_CAT_(ESPY_MARK_QUAD, ESPY_MARK_WIDE_(__VA_ARGS__)), \
			 ESPY_MARK_EACH_(ESPY_MARK_OFF_, __VA_ARGS__))
#define ESPY_MARK_OFF_(i, off, a) #off ", "
#define ESPY_MARK_USDT2_(name, types, offs) \
	".Lespy_usdt%=: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00;" \
	".ifndef _.stapsdt.base;" \
	".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat;" \
	".weak _.stapsdt.base;" \
	".hidden _.stapsdt.base;" \
	"_.stapsdt.base: .space 1;" \
	".size _.stapsdt.base, 1;" \
	".popsection;" \
	".endif;" \
	".pushsection .note.stapsdt,\"?\",@note;" \
	".balign 4;" \
	".long 8, .Lespy_usdt_end%=-.Lespy_usdt_desc%=, 3;" \
	".asciz \"stapsdt\";" \
	".Lespy_usdt_desc%=: .quad .Lespy_usdt%=, _.stapsdt.base, \\espy_r\\()s;" \
	".set .Lespy_split, 0;" \
	".irpc espy_c, " #name ";" \
	".ifc \\espy_c, _;" \
	".byte 95 * .Lespy_split;" \
	".set .Lespy_split, 1;" \
	".else;" \
	".ascii \"\\espy_c\";" \
	".endif;" \
	".endr;" \
	".if .Lespy_split == 0;" \
	".ascii \"\\0" #name "\";" \
	".endif;" \
	".byte 0;" \
	".set .Lespy_types, " types ";" \
	".irp espy_o, " offs ";" \
	".ifnb \\espy_o;" \
	".fill !!\\espy_o, 1, 32;" \
	".fill (0xa0a >> (.Lespy_types & 15)) & 1, 1, 45;" \
	".byte 48 + ((0x2211888888448 >> ((.Lespy_types & 15) * 4)) & 15);" \
	".ascii \"@\\espy_o(%%rax)\";" \
	".set .Lespy_types, .Lespy_types >> 4;" \
	".endif;" \
	".endr;" \
	".byte 0;" \
	".Lespy_usdt_end%=: .balign 4;" \
	".popsection;"
#else
#define ESPY_MARK_SEMAPHORE_ "0"
#define ESPY_MARK_SEMAPHORE_HERE_ ""
#define ESPY_MARK_USDT_(name, ...)
#endif
#define ESPY_MARK_EQUAL_ "{cmp %%esp, %%esp|cmp esp, esp};"
#if ESPY_MARK_USDT > 1
#define ESPY_MARK_COMPARE_ "{cmpw $0, \\espy_r\\()s(%%rip)|cmp word ptr \\espy_r\\()s[rip], 0};"
#define ESPY_MARK_TEST_ ESPY_MARK_COMPARE_ "jne %l[espy_on];"
#else
#define ESPY_MARK_COMPARE_ ESPY_MARK_EQUAL_
#define ESPY_MARK_TEST_
#endif

/*
 * The cold block stores the arguments to memory. Then it calls the hook of this object, if an agent has set a hook. The
 * array is volatile: the compiler gains nothing by optimising these stores, and would take a third of the compile time. The
 * hook gets the arguments' address in %rax and the mark's record in %r11. It keeps every other register, so that the
 * compiler need not know of a call.
 * The red zone below %rsp may hold variables: the code moves the stack pointer below it before the call. It moves it even
 * before the NOP of the note: since 6.18 the kernel may turn that NOP into a call of its own when a tool sets a uprobe
 * there. In both dialects, {AT&T|-masm=intel}.
 */
#define ESPY_MARK_CALL_(name, ...) \
	volatile unsigned long long espy_words_[ESPY_MARK_N_(__VA_ARGS__) + 1]; \
	ESPY_MARK_EACH_(ESPY_MARK_STORE_, __VA_ARGS__) \
	if (0) \
		espy_mark_check_("." __VA_ARGS__); \
	ESPY_MARK_ASM_ __volatile__(ESPY_MARK_EVENT_(name, __VA_ARGS__) \
				    "{lea %[espy_words], %%rax|lea rax, %[espy_words]};" \
				    "{lea -128(%%rsp), %%rsp|lea rsp, [rsp - 128]};" \
				    ESPY_MARK_USDT_(name, __VA_ARGS__) ESPY_MARK_HOOK_ ESPY_MARK_END_ \
				    : \
				    : [espy_words] "m"(espy_words_), ESPY_MARK_EVENT_OPERANDS_(__VA_ARGS__) \
				    : "rax", "r11", "cc", "memory")
#define ESPY_MARK_STORE_(i, off, a) espy_words_[i] = ESPY_MARK_WORD_(i, off, a);
#define ESPY_MARK_HOOK_ \
	"{cmpq $0, espy_mark_hook_1(%%rip)|cmp qword ptr espy_mark_hook_1[rip], 0};" \
	"je .Lespy_done%=;" \
	"{lea \\espy_r(%%rip), %%r11|lea r11, \\espy_r[rip]};" \
	"{call *espy_mark_hook_1(%%rip)|call qword ptr espy_mark_hook_1[rip]};" \
	".Lespy_done%=: {lea 128(%%rsp), %%rsp|lea rsp, [rsp + 128]};"

/* `inline`: the length of the text says nothing about the size of the code. */
#if defined(__clang__) ? __clang_major__ >= 12 : __GNUC__ >= 9
#define ESPY_MARK_ASM_ __asm__ __inline__
#else
#define ESPY_MARK_ASM_ __asm__
#endif
#ifdef __clang__
#define ESPY_MARK_COLD_
#else
#define ESPY_MARK_COLD_ __attribute__((__cold__))
#endif

#if defined(__cplusplus) && defined(__clang__)

/*
 * The site is a function of its own: older clang refuses `asm goto` in a function whose variables have destructors. The
 * compiler turns the bool back into the jump.
 */
#define ESPY_MARK_SITE_STRUCT_(site, ...) \
	struct espy_site_ { \
		static inline __attribute__((__always_inline__)) bool on() \
		{ \
			ESPY_MARK_ASM_ goto(site : : __VA_ARGS__ : : espy_on); \
			return false; \
		espy_on: \
			return true; \
		} \
	}

#define MARK_IF(condition, name, ...) \
	do { \
		ESPY_MARK_TYPES_(__VA_ARGS__); \
		ESPY_MARK_SITE_STRUCT_(ESPY_MARK_EVENT_(name, __VA_ARGS__) ESPY_MARK_SITE_ ESPY_MARK_TEST_ ESPY_MARK_END_, \
				       ESPY_MARK_EVENT_OPERANDS_(__VA_ARGS__)); \
		if (__builtin_expect(espy_site_::on(), 0)) { \
			if (condition) { \
				ESPY_MARK_CALL_(name, __VA_ARGS__); \
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
		ESPY_MARK_SITE_STRUCT_(ESPY_MARK_PLACE_(name, what) ESPY_MARK_SITE_ ESPY_MARK_END_, \
				       ESPY_MARK_PLACE_OPERANDS_); \
		espy_site_::on(); \
	})

#elif !ESPY_MARK_GOTO

/*
 * The zero flag tells whether the mark is on. Before the NOP the flag says equal; behind the jump it does not. The jump
 * goes to the end of the section and back.
 */
#define ESPY_MARK_FLAG_(on, record, compare, ...) \
	ESPY_MARK_ASM_ __volatile__( \
		record compare ESPY_MARK_SITE_TO_(".Lespy_on%=") ".Lespy_off%=:" \
		".subsection 1;" \
		".Lespy_on%=: {test %%esp, %%esp|test esp, esp};" \
		"jmp .Lespy_off%=;" \
		".previous;" ESPY_MARK_END_ \
		: "=@ccnz"(on) : __VA_ARGS__)
#define MARK_IF(condition, name, ...) \
	__extension__({ \
		int espy_wanted_; \
		ESPY_MARK_TYPES_(__VA_ARGS__); \
		ESPY_MARK_FLAG_(espy_wanted_, ESPY_MARK_EVENT_(name, __VA_ARGS__), ESPY_MARK_COMPARE_, \
				ESPY_MARK_EVENT_OPERANDS_(__VA_ARGS__)); \
		if (__builtin_expect(espy_wanted_, 0)) { \
			if (condition) { \
				ESPY_MARK_CALL_(name, __VA_ARGS__); \
			} \
		} \
		(void)0; \
	})
#define MARK_INLINE(name, ...) \
	__extension__({ \
		if (__builtin_expect(ESPY_MARK_PLACE_ON_(name, 1), 0)) { \
			__VA_ARGS__; \
		} \
		(void)0; \
	})
#define MARK_ENABLED(name) ESPY_MARK_PLACE_ON_(name, 2)
#define ESPY_MARK_PLACE_ON_(name, what) \
	__extension__({ \
		int espy_is_on_; \
		ESPY_MARK_FLAG_(espy_is_on_, ESPY_MARK_PLACE_(name, what), ESPY_MARK_EQUAL_, ESPY_MARK_PLACE_OPERANDS_); \
		espy_is_on_; \
	})

#else

#define MARK_IF(condition, name, ...) \
	__extension__({ \
		__label__ espy_on, espy_off; \
		ESPY_MARK_TYPES_(__VA_ARGS__); \
		ESPY_MARK_ASM_ goto(ESPY_MARK_EVENT_(name, __VA_ARGS__) ESPY_MARK_SITE_ ESPY_MARK_TEST_ ESPY_MARK_END_ \
			     : : ESPY_MARK_EVENT_OPERANDS_(__VA_ARGS__) : : espy_on); \
		goto espy_off; \
	espy_on: \
		ESPY_MARK_COLD_; \
		if (condition) { \
			ESPY_MARK_CALL_(name, __VA_ARGS__); \
		} \
	espy_off:; \
	})
#define MARK_INLINE(name, ...) \
	__extension__({ \
		__label__ espy_on, espy_off; \
		ESPY_MARK_ASM_ goto(ESPY_MARK_PLACE_(name, 1) ESPY_MARK_SITE_ ESPY_MARK_END_ \
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
		ESPY_MARK_ASM_ goto(ESPY_MARK_PLACE_(name, 2) ESPY_MARK_SITE_ ESPY_MARK_END_ \
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
