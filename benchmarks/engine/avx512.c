/* The limit of a machine: hard-threshold-ucb on ten Bernoulli arms by hand, in AVX-512, 16 runs a vector.

   cc -O3 -march=native -fopenmp -o simd benchmarks/simd.c -lm && ./simd [runs] [rounds]

   The problem of problems.py: means .9 to .1, tau = .05, A = .45, exploration 2. A vector's counts and sums stay in
   registers for all of its rounds; the numbers are those of one Threefry-2x32-13 a run and round. The mean pulls of each
   arm are printed, to be compared with the simulator's. */

#include <immintrin.h>
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { K = 10, LANES = 16 };

static inline __m512i turn(__m512i x, const int by) {
    return _mm512_or_si512(_mm512_slli_epi32(x, by), _mm512_srli_epi32(x, 32 - by));
}

/* The first word of Threefry-2x32 in 13 rounds. */
static inline __m512i threefry(__m512i k0, __m512i k1, __m512i x, __m512i y) {
    static const int by[8] = {13, 15, 26, 6, 17, 29, 16, 24};
    const __m512i parity = _mm512_set1_epi32(0x1BD11BDA);
    const __m512i key[3] = {k0, k1, _mm512_xor_si512(_mm512_xor_si512(k0, k1), parity)};
    x = _mm512_add_epi32(x, key[0]);
    y = _mm512_add_epi32(y, key[1]);
#pragma GCC unroll 13
    for (int n = 0; n < 13; n++) {
        x = _mm512_add_epi32(x, y);
        y = _mm512_xor_si512(turn(y, by[n % 8]), x);
        if (n % 4 == 3) {
            const int s = n / 4 + 1;
            x = _mm512_add_epi32(x, key[s % 3]);
            y = _mm512_add_epi32(_mm512_add_epi32(y, key[(s + 1) % 3]), _mm512_set1_epi32(s));
        }
    }
    return x;
}

int main(int count, char **words) {
    const int runs = count > 1 ? atoi(words[1]) : 65536, rounds = count > 2 ? atoi(words[2]) : 10000;
    float *width = malloc((rounds + 1) * sizeof *width), *due = malloc((rounds + 1) * sizeof *due);
    for (int t = 1; t <= rounds; t++) {
        width[t] = 2 * logf(t);
        due[t] = ceilf(.05f * t); /* N < tau t for whole N */
    }
    double total[K] = {0};
    const double begin = omp_get_wtime();
#pragma omp parallel for schedule(dynamic, 16) reduction(+ : total[:K])
    for (int group = 0; group < runs / LANES; group++) {
        __m512 pulls[K], sums[K];
        const __m512 one = _mm512_set1_ps(1);
        const __m512i run = _mm512_add_epi32(
            _mm512_set1_epi32(group * LANES), _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
        const __m512i k0 = threefry(run, run, _mm512_setzero_si512(), run), k1 = threefry(run, k0, run, k0);
#pragma GCC unroll 10
        for (int k = 0; k < K; k++) pulls[k] = sums[k] = _mm512_setzero_ps();
        for (int t = 1; t <= rounds; t++) {
            const __m512 w = _mm512_set1_ps(width[t]), owed = _mm512_set1_ps(due[t]), extra = _mm512_set1_ps(.45f);
            __m512 best = _mm512_set1_ps(-1), mean = one;
            __m512i arm = _mm512_setzero_si512();
#pragma GCC unroll 10
            for (int k = 0; k < K; k++) {
                const __m512 n = pulls[k];
                __m512 value = _mm512_div_ps(_mm512_add_ps(sums[k], _mm512_sqrt_ps(_mm512_mul_ps(w, n))), n);
                value = _mm512_mask_add_ps(value, _mm512_cmp_ps_mask(n, owed, _CMP_LT_OQ), value, extra);
                value = _mm512_mask_mov_ps(value, _mm512_cmp_ps_mask(n, one, _CMP_LT_OQ), _mm512_set1_ps(1e9f));
                const __mmask16 more = _mm512_cmp_ps_mask(value, best, _CMP_GT_OQ);
                best = _mm512_mask_mov_ps(best, more, value);
                arm = _mm512_mask_mov_epi32(arm, more, _mm512_set1_epi32(k));
                mean = _mm512_mask_mov_ps(mean, more, _mm512_set1_ps(.9f - .8f * k / (K - 1)));
            }
            const __m512i word = threefry(k0, k1, _mm512_set1_epi32(t), _mm512_setzero_si512());
            const __m512 uniform =
                _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_srli_epi32(word, 8)), _mm512_set1_ps(0x1p-24f));
            const __mmask16 won = _mm512_cmp_ps_mask(uniform, mean, _CMP_LT_OQ);
#pragma GCC unroll 10
            for (int k = 0; k < K; k++) {
                const __mmask16 its = _mm512_cmpeq_epi32_mask(arm, _mm512_set1_epi32(k));
                pulls[k] = _mm512_mask_add_ps(pulls[k], its, pulls[k], one);
                sums[k] = _mm512_mask_add_ps(sums[k], its & won, sums[k], one);
            }
        }
        for (int k = 0; k < K; k++) total[k] += _mm512_reduce_add_ps(pulls[k]);
    }
    const double taken = omp_get_wtime() - begin;
    const int whole = runs / LANES * LANES;
    printf("%d threads, %d runs, %d rounds: %.0f M rounds/s\nmean pulls:", omp_get_max_threads(), whole, rounds,
           1e-6 * whole * rounds / taken);
    for (int k = 0; k < K; k++) printf(" %.2f", total[k] / whole);
    printf("\n");
}
