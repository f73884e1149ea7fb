/* The limit of the machine: hard-threshold-ucb on ten Bernoulli arms, written by hand in AVX-512.

   cc -O3 -march=native -fopenmp -o avx512 benchmarks/engine/avx512.c -lm && ./avx512 [runs] [rounds]

   A vector holds 16 runs, and its counts and sums stay in registers for all rounds. The problem is FRACTIONS of
   policies/problems.py: means 0.9 to 0.1, tau = 0.05, A = 0.45, exploration 2. The random numbers are one
   Threefry-2x32-13 per run and round. The program prints the speed and the mean number of selections of every arm, to
   compare with those of the simulator. */

#include <immintrin.h>
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { K = 10, LANES = 16 };

static inline __m512i rotate(__m512i x, const int bits) {
    return _mm512_or_si512(_mm512_slli_epi32(x, bits), _mm512_srli_epi32(x, 32 - bits));
}

/* The first word of Threefry-2x32 with 13 rounds. */
static inline __m512i threefry(__m512i k0, __m512i k1, __m512i x, __m512i y) {
    static const int rotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
    const __m512i parity = _mm512_set1_epi32(0x1BD11BDA);
    const __m512i key[3] = {k0, k1, _mm512_xor_si512(_mm512_xor_si512(k0, k1), parity)};
    x = _mm512_add_epi32(x, key[0]);
    y = _mm512_add_epi32(y, key[1]);
#pragma GCC unroll 13
    for (int n = 0; n < 13; n++) {
        x = _mm512_add_epi32(x, y);
        y = _mm512_xor_si512(rotate(y, rotations[n % 8]), x);
        if (n % 4 == 3) {
            const int s = n / 4 + 1;
            x = _mm512_add_epi32(x, key[s % 3]);
            y = _mm512_add_epi32(_mm512_add_epi32(y, key[(s + 1) % 3]), _mm512_set1_epi32(s));
        }
    }
    return x;
}

int main(int argc, char **argv) {
    const int asked = argc > 1 ? atoi(argv[1]) : 65536, rounds = argc > 2 ? atoi(argv[2]) : 10000;
    const int vectors = asked / LANES, runs = vectors * LANES;
    /* By round t: 2 log t, and the smallest whole number that is at least tau t. */
    float *widths = malloc((rounds + 1) * sizeof *widths), *quotas = malloc((rounds + 1) * sizeof *quotas);
    for (int t = 1; t <= rounds; t++) {
        widths[t] = 2 * logf(t);
        quotas[t] = ceilf(.05f * t);
    }
    double totals[K] = {0};
    const double started = omp_get_wtime();
#pragma omp parallel for schedule(dynamic, 16) reduction(+ : totals[:K])
    for (int vector = 0; vector < vectors; vector++) {
        __m512 pulls[K], sums[K];
        const __m512 one = _mm512_set1_ps(1);
        const __m512i run = _mm512_add_epi32(
            _mm512_set1_epi32(vector * LANES), _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
        const __m512i k0 = threefry(run, run, _mm512_setzero_si512(), run), k1 = threefry(run, k0, run, k0);
#pragma GCC unroll 10
        for (int k = 0; k < K; k++) pulls[k] = sums[k] = _mm512_setzero_ps();
        for (int t = 1; t <= rounds; t++) {
            const __m512 width = _mm512_set1_ps(widths[t]), quota = _mm512_set1_ps(quotas[t]);
            const __m512 bonus = _mm512_set1_ps(.45f);
            __m512 highest = _mm512_set1_ps(-1), mean = one;
            __m512i arm = _mm512_setzero_si512();
            /* Select the arm of the highest index; an arm that was never selected has index 1e9. */
#pragma GCC unroll 10
            for (int k = 0; k < K; k++) {
                const __m512 n = pulls[k];
                __m512 index = _mm512_div_ps(_mm512_add_ps(sums[k], _mm512_sqrt_ps(_mm512_mul_ps(width, n))), n);
                index = _mm512_mask_add_ps(index, _mm512_cmp_ps_mask(n, quota, _CMP_LT_OQ), index, bonus);
                index = _mm512_mask_mov_ps(index, _mm512_cmp_ps_mask(n, one, _CMP_LT_OQ), _mm512_set1_ps(1e9f));
                const __mmask16 higher = _mm512_cmp_ps_mask(index, highest, _CMP_GT_OQ);
                highest = _mm512_mask_mov_ps(highest, higher, index);
                arm = _mm512_mask_mov_epi32(arm, higher, _mm512_set1_epi32(k));
                mean = _mm512_mask_mov_ps(mean, higher, _mm512_set1_ps(.9f - .8f * k / (K - 1)));
            }
            /* Draw its reward, and add it to the counts and sums. */
            const __m512i word = threefry(k0, k1, _mm512_set1_epi32(t), _mm512_setzero_si512());
            const __m512 uniform =
                _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_srli_epi32(word, 8)), _mm512_set1_ps(0x1p-24f));
            const __mmask16 rewarded = _mm512_cmp_ps_mask(uniform, mean, _CMP_LT_OQ);
#pragma GCC unroll 10
            for (int k = 0; k < K; k++) {
                const __mmask16 selected = _mm512_cmpeq_epi32_mask(arm, _mm512_set1_epi32(k));
                pulls[k] = _mm512_mask_add_ps(pulls[k], selected, pulls[k], one);
                sums[k] = _mm512_mask_add_ps(sums[k], selected & rewarded, sums[k], one);
            }
        }
        for (int k = 0; k < K; k++) totals[k] += _mm512_reduce_add_ps(pulls[k]);
    }
    const double seconds = omp_get_wtime() - started;
    printf("%d threads, %d runs, %d rounds: %.0f M rounds/s\nmean selections per arm:", omp_get_max_threads(), runs,
           rounds, 1e-6 * runs * rounds / seconds);
    for (int k = 0; k < K; k++) printf(" %.2f", totals[k] / runs);
    printf("\n");
}
