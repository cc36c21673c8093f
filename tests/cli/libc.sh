# Part of run.sh: a libc that is like no other.

libc=$(LC_ALL=C ldd "$state" | sed -n 's/.*libc\.so\.6 => \([^ ]*\).*/\1/p')
# other_libc NAME TYPE WITH: the program header of that type is gone, or what it
# leads to is filled with bytes WITH.
other_libc() {
	mkdir -p "$T/$1"
	/usr/bin/python3 - "$libc" "$T/$1/libc.so.6" "$2" "$3" <<-'EOF'
	import os, struct, sys
	b = bytearray(open(sys.argv[1], "rb").read())
	at, = struct.unpack_from("<Q", b, 32)
	n, = struct.unpack_from("<H", b, 56)
	for ph in range(at, at + 56 * n, 56):
	    kind, _, off, _, _, size = struct.unpack_from("<IIQQQQ", b, ph)
	    if kind != int(sys.argv[3], 16):
	        continue
	    if sys.argv[4] == "gone":
	        struct.pack_into("<I", b, ph, 0)
	    else:
	        b[off:off + size] = bytes([int(sys.argv[4], 16)]) * size
	open(sys.argv[2], "wb").write(b)
	os.chmod(sys.argv[2], 0o755)
	EOF
}

other_libc no_frames 6474e550 gone
other_libc zero_frames 6474e550 0
other_libc wild_frames 6474e550 ff
other_libc renamed 0 gone
for name in no_frames zero_frames wild_frames; do
	unhooked_as_natively "libc, $name" "no frame table in .*/$name/libc.so.6" \
		env LD_LIBRARY_PATH="$T/$name"
done
# As before glibc 2.34, nobody is told where a thread has its id: cancels find it.
mkdir -p "$T/untold"
sed 's/_thread_db_pthread_tid/_thread_db_pthread_xyz/' "$libc" >"$T/untold/libc.so.6"
for cancel in cxx/cancel_unwind thread/cancel_many; do
	run timeout 20 env LD_LIBRARY_PATH="$T/untold" FIBHOOK_STATS=stderr \
		"$F" "$B/tests/hooks/$cancel"
	check "libc, untold, $cancel: status" [ "$status" = 0 ]
	check "libc, untold, $cancel: is hooked" \
		grep -q "^fibers_created [1-9]" "$T/err"
done
# In another folder, under another name: libc all the same.
mv "$T/renamed/libc.so.6" "$T/renamed/libany.so"
ln -s libany.so "$T/renamed/libc.so.6"
run env LD_LIBRARY_PATH="$T/renamed" "$F" --log info "$B/tests/cli/threads"
check "libc under another name: status" [ "$status" = 0 ]
check "libc under another name: hooked" grep -q "sites rewritten" "$T/err"
