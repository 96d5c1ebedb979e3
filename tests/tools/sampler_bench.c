/*
 * What each stage of the sampler costs: microseconds a draw, the least of many, over
 * logits as a trained model gives them (a few likely tokens) and over nearly even ones.
 *
 *   sampler_bench [VOCABULARY]
 */
#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/rng.h"
#include "sampling/chain/sampler.h"

#include <stdio.h>
#include <stdlib.h>

enum { N_TEXT = 1024, ROUNDS = 200 };

static struct sampler_config off(void)
{
    struct sampler_config c;
    sampler_config_init(&c);
    c.temperature = 1;
    c.top_p = 1;
    c.seed = 1;
    return c;
}

static void time_one(const char *name, const struct sampler_config *c, float *const logits[2],
                     const token_id *text, int n_vocab)
{
    struct sampler *s;
    if (sampler_new(&s, c, n_vocab, N_TEXT, NULL, NULL) != 0) {
        fprintf(stderr, "%s\n", err_text());
        exit(1);
    }
    printf("%-24s", name);
    for (int which = 0; which < 2; which++) {
        double best = 1e9;
        for (int i = 0; i < ROUNDS; i++) {
            double start = clock_s();
            sampler_pick(s, logits[which], text, N_TEXT, i);
            double took = clock_s() - start;
            best = took < best ? took : best;
        }
        printf(" %10.1f", best * 1e6);
    }
    printf("\n");
    sampler_free(s);
}

int main(int argc, char **argv)
{
    int n_vocab = argc > 1 ? atoi(argv[1]) : 50257;
    float *logits[2] = {mem_array((size_t)n_vocab, sizeof(float)),
                        mem_array((size_t)n_vocab, sizeof(float))};
    token_id *text = mem_array(N_TEXT, sizeof *text);
    rng_normals(logits[0], 1, 0, 0, (size_t)n_vocab);
    for (int i = 0; i < n_vocab; i++) {
        float x = logits[0][i];
        logits[0][i] = -35 + 3 * x + (i % 5000 == 7 ? 12 : 0);
        logits[1][i] = 0.1f * x;
    }
    for (int i = 0; i < N_TEXT; i++)
        text[i] = (token_id)(rng_uniform(1, 1, (uint64_t)i) * n_vocab);
    printf("%-24s %10s %10s   us a draw, V = %d\n", "", "peaked", "even", n_vocab);

    struct sampler_config c = off();
#define TIME(name, ...)                                                                            \
    do {                                                                                           \
        c = off();                                                                                 \
        __VA_ARGS__;                                                                               \
        time_one(name, &c, logits, text, n_vocab);                                                 \
    } while (0)
    TIME("greedy", c.temperature = 0);
    TIME("no stage", (void)0);
    TIME("default chain", c.temperature = 0.8f; c.top_p = 0.95f);
    TIME("temperature 0.8", c.temperature = 0.8f);
    TIME("dynatemp_range 0.5", c.dynatemp_range = 0.5f);
    TIME("top_k 40", c.top_k = 40);
    TIME("top_k 20000", c.top_k = 20000);
    TIME("top_p 0.95", c.top_p = 0.95f);
    TIME("min_p 0.05", c.min_p = 0.05f);
    TIME("typical_p 0.9", c.typical_p = 0.9f);
    TIME("top_n_sigma 1", c.top_n_sigma = 1);
    TIME("xtc", c.xtc_probability = 1);
    TIME("topk_uniform", c.top_k = 10; c.topk_uniform = true);
    TIME("mirostat 1", c.mirostat = 1);
    TIME("mirostat 2", c.mirostat = 2);
    TIME("repetition_penalty 1.2", c.repetition_penalty = 1.2f; c.frequency_penalty = 0.1f);
    TIME("dry", c.dry_multiplier = 0.8f);
    TIME("no_repeat_ngram_size 3", c.no_repeat_ngram_size = 3);
    mem_free(logits[0]);
    mem_free(logits[1]);
    mem_free(text);
    return 0;
}
