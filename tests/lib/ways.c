#include "tests/lib/ways.h"

void ways_choose(int way, struct generate_config *g, struct sampler_config *c)
{
    generate_config_init(g);
    sampler_config_init(c);
    g->max_new_tokens = 40;
    c->ignore_eos = true;
    /* A little certainty, which the random model has not: it goes on with what it said. */
    c->temperature = 0.1f, c->top_p = 1;
    /* clang-format off */
    switch (way) {
    case 0: c->temperature = 0; break;
    case 1: c->temperature = 0.8f, c->top_p = 0.95f; break;
    case 2: c->temperature = 2; break;
    case 3: c->top_k = 3; break;
    case 4: c->top_p = 0.5f; break;
    case 5: c->min_p = 0.2f; break;
    case 6: c->typical_p = 0.6f; break;
    case 7: c->top_n_sigma = 1; break;
    case 8: c->xtc_probability = 0.5f, c->xtc_threshold = 0.1f; break;
    case 9: c->topk_uniform = true, c->top_k = 2; break;
    case 10: c->dynatemp_range = 0.09f; break;
    case 11: c->mirostat = 1, c->mirostat_tau = 2; break;
    case 12: c->mirostat = 2, c->mirostat_tau = 1, c->temperature = 0.3f; break;
    case 13: c->repetition_penalty = 1.2f, c->temperature = 0; break;
    case 14: c->frequency_penalty = 0.05f, c->presence_penalty = 0.1f; break;
    case 15: c->repetition_penalty = 1.1f, c->penalty_window = 7; break;
    case 16: c->dry_multiplier = 0.3f, c->dry_allowed_length = 6; break;
    case 17: c->dry_multiplier = 0.8f, c->temperature = 0; break;
    case 18: c->no_repeat_ngram_size = 9; break;
    case 19: c->bad_words = "the,ab"; break;
    case 20: c->logit_bias = "258:1,102:0.5,33:-inf"; break;
    case 21: c->chain = "min_p,temperature,penalties", c->min_p = 0.1f; break;
    case 22: c->ignore_eos = false, c->logit_bias = "0:1"; break;
    case 23: g->stop_token = "102,the,33", c->ignore_eos = false; break;
    case 24:
        g->stop_token = "102,the", c->ignore_eos = false, c->min_new_tokens = 20;
        break;
    case 25: g->stop = "e,ab,of the", c->temperature = 0; break;
    case 26: g->stop = "the end of the end,cabcab,x = 1"; break;
    case 27: g->on_full = ON_FULL_SLIDE, g->max_new_tokens = 250; break;
    case 28: g->on_full = ON_FULL_SLIDE, g->max_new_tokens = 250, c->temperature = 0;
        break;
    case 29: g->max_new_tokens = 1000; break; /* to the end of the context */
    case 30: g->device_loop = false; break;
    case 31: g->device_iterations = 5; break;
    case 32: g->num_return_sequences = WAYS_TEXTS; break;
    case 33: g->max_new_tokens = 2; break;
    case 34: c->grammar = "root ::= ([a-z]{1,4} \" \")* \"end.\""; break;
    case 35: c->grammar = "root ::= (\"the \" | \"ab\" | [a-e])*", c->temperature = 0; break;
    case 36: c->grammar = "root ::= \"(\" root \")\" | [a-z ]{2,30}", c->ignore_eos = false;
        break;
    }
    /* clang-format on */
}
