# open: a cancel kicks its thread, and a fault that a signal interrupts is told of anew (so it is natively with glibc from 2.41 on, which sends a signal)
0 uffd u
1 sub touch 0
0 faulted u
0 faulted u
4 cancel 1
