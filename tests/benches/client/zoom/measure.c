/* Measures the cost of a process: measure TIMES PROGRAM ARGUMENT...
 * Runs the program TIMES times in sequence, discards its output and prints a line: seconds on the clock, seconds of CPU, the
 * peak memory of a run in KiB, and how many runs failed. Small on purpose: between fork and exec a child shares this process's
 * memory, which counts towards its peak. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval time)
{
    return time.tv_sec + time.tv_usec / 1e6;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void become(char **program)
{
    int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    execv(program[0], program);
    _exit(127);
}

int main(int argc, char **argv)
{
    int times = argc > 2 ? atoi(argv[1]) : 0;
    int failed = 0;
    double cpu = 0;
    long peak = 0;
    double began = now();

    for (int run = 0; run < times; run++) {
        struct rusage used;
        int status = -1;
        pid_t child = fork();
        if (child == 0)
            become(argv + 2);
        if (child < 0 || wait4(child, &status, 0, &used) != child)
            return 1;
        failed += status != 0;
        cpu += seconds(used.ru_utime) + seconds(used.ru_stime);
        if (used.ru_maxrss > peak)
            peak = used.ru_maxrss;
    }
    printf("wall=%.6f cpu=%.6f peak=%ld failed=%d\n", now() - began, cpu, peak, failed);
    return times < 1;
}
