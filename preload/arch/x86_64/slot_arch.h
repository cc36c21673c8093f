/*
 * The slots that rewritten sites jump to, see tramp.S; and how much of the text
 * a site takes. For C and assembly.
 */
#ifndef FIB_SLOT_ARCH_H
#define FIB_SLOT_ARCH_H

#define FIB_SLOTS     2048
#define FIB_SLOT_SIZE 64
#define FIB_SLOT_HEAD 8	 /* prefix room begins; X stands before */
#define FIB_SLOT_CORE 20 /* prefix room ends, lea -128(%rsp),%rsp */
#define FIB_SLOT_RET  36 /* where fib_tramp_common returns to */
#define FIB_SLOT_TAIL 44 /* rsp is the function's again */

#define FIB_WINDOW_MIN 5 /* a jmp rel32 */
#define FIB_WINDOW_MAX 32

#ifndef __ASSEMBLER__
extern const char fib_slots[], fib_slots_end[];
extern const char fib_tramp_common[], fib_vfork_stub[];
#endif

#endif
