/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The two sides of the compile matrix: a sample in C or C++ with marks, and the program that counts its events. */
#ifdef __cplusplus
extern "C" {
#endif
/* Passes marks; returns how many, if all are on. */
int sample_run(int n);
/* How often arguments were evaluated so far. */
extern int sample_evaluated;
#ifdef __cplusplus
}
#endif
