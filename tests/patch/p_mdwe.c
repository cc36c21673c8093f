/*
 * Runs a program in a process whose memory may never become executable after
 * it was mapped (PR_SET_MDWE): the rewriter has to map images of the text.
 * Exit status 77: this kernel has no such thing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef PR_SET_MDWE
#define PR_SET_MDWE		 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

int main(int argc, char **argv)
{
	if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0)) {
		printf("no PR_SET_MDWE\n");
		return 77;
	}
	if (argc < 3)
		return 1;
	setenv("LD_PRELOAD", argv[1], 1);
	execvp(argv[2], argv + 2);
	return 1;
}
