#include "repl/settings/options_table.h"

#include "model/kernels/kernels.h"
#include "weights/bundled/bundled.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#define G(field) offsetof(struct settings, generate.field)
#define S(field) offsetof(struct settings, sampler.field)
#define D(field) offsetof(struct settings, device.field)
#define T(field) offsetof(struct settings, talk.field)
#define B(field) offsetof(struct settings, batch.field)
#define E(field) offsetof(struct settings, eval.field)
#define C(field) offsetof(struct settings, call.field)

#define CHOICES(...) ((const char *const[]){__VA_ARGS__, NULL})

static const double MANY = 1e9; /* more than any text holds */

static const char *kernels_word(int i)
{
    return i == 0 ? "auto" : kernels_nth_name(i - 1);
}

/* clang-format off */
static const struct setting table[] = {
{.group = "Model and machine", .name = "model", .holds_from = HOLDS_FROM_LOAD, .letter = 'm', .type = SETTING_PATH, .offset = D(model), .argument = "PATH",
 .help = "a Hugging Face folder, a .safetensors, .bin or .gguf file, bundled (the one that ships), random:gpt2 or random:config.json"},
{.group = "Model and machine", .name = "lora", .holds_from = HOLDS_FROM_START, .type = SETTING_PATH, .offset = D(lora), .argument = "DIR",
 .help = "a LoRA adapter, in PEFT's files, to stand beside that model from the start"},
{.group = "Model and machine", .name = "dtype", .holds_from = HOLDS_FROM_LOAD, .type = SETTING_CHOICE, .offset = D(dtype),
 .choices = CHOICES("auto", "fp16|f16|float16|half", "fp32|f32|float32|float", "bf16|bfloat16"),
 .help = "precision: auto is fp16 in memory; in files written by save and convert it keeps the file's own"},
{.group = "Model and machine", .name = "threads", .holds_from = HOLDS_FROM_TEAM, .letter = 't', .also = "n_threads|num_threads", .type = SETTING_INT, .offset = D(threads), .max = 1024, .argument = "N",
 .help = "threads of the device, 0: one for each processor it may use"},
{.group = "Model and machine", .name = "pin", .holds_from = HOLDS_FROM_TEAM, .type = SETTING_BOOL, .offset = D(pin),
 .help = "keep each thread on a processor of its own, where there is one for each"},
{.group = "Model and machine", .name = "kernels", .words = kernels_word, .holds_from = HOLDS_FROM_TEAM, .type = SETTING_STRING, .offset = D(kernels), .argument = "NAME",
 .help = "instruction set: auto, portable, avx2, avx512; all give the same bits; PRATTLE_KERNELS in the environment says what auto is"},
{.group = "Model and machine", .name = "device_loop", .type = SETTING_BOOL, .per_line = true, .offset = G(device_loop),
 .help = "whole answers in one call to the device; off: step by step; the tokens are the same"},
{.group = "Model and machine", .name = "device_iterations", .type = SETTING_INT, .per_line = true, .offset = G(device_iterations), .min = 1, .max = 1e6, .argument = "N",
 .help = "tokens the device makes before it hands them over; 1 streams"},

{.group = "Text", .name = "max_new_tokens", .letter = 'n', .also = "n_predict|num_predict|max_tokens|output_len", .type = SETTING_INT, .per_line = true, .offset = G(max_new_tokens), .max = 1e6, .argument = "N",
 .help = "length of an answer at most"},
{.group = "Text", .name = "min_new_tokens", .type = SETTING_INT, .per_line = true, .offset = S(min_new_tokens), .max = MANY, .argument = "N",
 .help = "no stop token is drawn before this many"},
{.group = "Text", .name = "stop", .also = "reverse_prompt|stop_strings", .type = SETTING_STRING, .per_line = true, .offset = G(stop), .argument = "TEXT,...",
 .help = "texts that end an answer, separated by commas, C escapes; never shown"},
{.group = "Text", .name = "stop_token", .type = SETTING_STRING, .per_line = true, .offset = G(stop_token), .argument = "ID|TEXT,...",
 .help = "the tokens that end an answer; empty: the model's own end of text"},
{.group = "Text", .name = "ignore_eos", .type = SETTING_BOOL, .per_line = true, .offset = S(ignore_eos),
 .help = "never draw a stop token"},
{.group = "Text", .name = "on_full", .type = SETTING_CHOICE, .per_line = true, .offset = G(on_full), .choices = CHOICES("stop", "slide"),
 .help = "when the context is full: stop, or go on with its newer half"},
{.group = "Text", .name = "begin", .type = SETTING_BOOL, .per_line = true, .offset = G(begin),
 .help = "a new text begins with the token that begins texts, unseen; for models that learned where texts begin"},
{.group = "Text", .name = "trim", .type = SETTING_BOOL, .per_line = true, .offset = G(trim),
 .help = "a blank at the prompt's end goes with the word that follows"},
{.group = "Text", .name = "special", .type = SETTING_BOOL, .per_line = true, .offset = G(special),
 .help = "<|endoftext|> in a prompt is the token, not text"},
{.group = "Text", .name = "keep", .type = SETTING_BOOL, .in_session = true, .offset = T(keep),
 .help = "a prompt goes on from the last text instead of beginning a new one"},
{.group = "Text", .name = "echo", .type = SETTING_CHOICE, .offset = T(echo), .choices = CHOICES("auto", "on|yes|true|1", "off|no|false|0"),
 .help = "repeat the prompt before the answer; auto: only in batches"},

{.group = "Sampling", .name = "temperature", .also = "temp", .type = SETTING_FLOAT, .per_line = true, .offset = S(temperature), .max = 1e6, .argument = "X",
 .help = "above 1 flatter, below 1 sharper, 0 greedy"},
{.group = "Sampling", .name = "greedy", .type = SETTING_SHORTHAND, .shorthand_for = "temperature", .shorthand_value = "0",
 .help = "the most likely token each time: temperature 0"},
{.group = "Sampling", .name = "top_k", .letter = 'k', .type = SETTING_INT, .per_line = true, .offset = S(top_k), .max = 1e7, .argument = "N",
 .help = "only the N most likely tokens, 0 off"},
{.group = "Sampling", .name = "top_p", .type = SETTING_FLOAT, .per_line = true, .offset = S(top_p), .max = 1, .argument = "X",
 .help = "only the most likely tokens that together reach X, 1 off"},
{.group = "Sampling", .name = "min_p", .type = SETTING_FLOAT, .per_line = true, .offset = S(min_p), .max = 1, .argument = "X",
 .help = "only tokens at least X times as likely as the likeliest, 0 off"},
{.group = "Sampling", .name = "typical_p", .also = "typical", .type = SETTING_FLOAT, .per_line = true, .offset = S(typical_p), .min = 0.001, .max = 1, .argument = "X",
 .help = "locally typical tokens that together reach X, 1 off"},
{.group = "Sampling", .name = "top_n_sigma", .also = "top_nsigma", .type = SETTING_FLOAT, .per_line = true, .offset = S(top_n_sigma), .max = 1e6, .argument = "X",
 .help = "only logits within X deviations of the greatest, 0 off"},
{.group = "Sampling", .name = "xtc_probability", .type = SETTING_FLOAT, .per_line = true, .offset = S(xtc_probability), .max = 1, .argument = "X",
 .help = "how often XTC takes the likeliest tokens out, 0 off"},
{.group = "Sampling", .name = "xtc_threshold", .type = SETTING_FLOAT, .per_line = true, .offset = S(xtc_threshold), .max = 0.5, .argument = "X",
 .help = "XTC takes out all but the least likely of those above this"},
{.group = "Sampling", .name = "dynatemp_range", .type = SETTING_FLOAT, .per_line = true, .offset = S(dynatemp_range), .max = 1e6, .argument = "X",
 .help = "dynamic temperature: temperature - X to + X, by entropy, 0 off"},
{.group = "Sampling", .name = "dynatemp_exponent", .type = SETTING_FLOAT, .per_line = true, .offset = S(dynatemp_exponent), .max = 1e6, .argument = "X",
 .help = "how fast it rises with entropy"},
{.group = "Sampling", .name = "mirostat", .type = SETTING_INT, .per_line = true, .offset = S(mirostat), .max = 2, .argument = "N",
 .help = "keep surprise constant: version 1 or 2, 0 off"},
{.group = "Sampling", .name = "mirostat_tau", .also = "mirostat_ent", .type = SETTING_FLOAT, .per_line = true, .offset = S(mirostat_tau), .min = 0.001, .max = 1e6, .argument = "X",
 .help = "its target, in bits a token"},
{.group = "Sampling", .name = "mirostat_eta", .also = "mirostat_lr", .type = SETTING_FLOAT, .per_line = true, .offset = S(mirostat_eta), .max = 1, .argument = "X",
 .help = "how fast it adapts"},
{.group = "Sampling", .name = "topk_uniform", .type = SETTING_BOOL, .per_line = true, .offset = S(topk_uniform),
 .help = "each of the top_k equally likely"},
{.group = "Sampling", .name = "chain", .type = SETTING_STRING, .per_line = true, .offset = S(chain), .argument = "STAGE,...",
 .help = "the stages in order; one left out is off"},
{.group = "Sampling", .name = "seed", .draws = true, .letter = 's', .type = SETTING_UINT64, .per_line = true, .offset = S(seed), .max = 18446744073709551615.0, .argument = "N",
 .help = "the same seed gives the same text; 0: a fresh one each time, shown"},
{.group = "Sampling", .name = "draw", .draws = true, .type = SETTING_INT64, .per_line = true, .offset = S(draw), .max = 9007199254740992.0, .argument = "N",
 .help = "which draw of the seed; line i of a batch is draw i, from 0, or i times num_return_sequences"},

{.group = "Penalties", .name = "repetition_penalty", .also = "repeat_penalty", .type = SETTING_FLOAT, .per_line = true, .offset = S(repetition_penalty), .min = 0.01, .max = 1e6, .argument = "X",
 .help = "CTRL's: what was in the text is X times less likely (of its logit), 1 off"},
{.group = "Penalties", .name = "frequency_penalty", .type = SETTING_FLOAT, .per_line = true, .offset = S(frequency_penalty), .min = -100, .max = 100, .argument = "X",
 .help = "taken off a logit for each time it was there, 0 off"},
{.group = "Penalties", .name = "presence_penalty", .type = SETTING_FLOAT, .per_line = true, .offset = S(presence_penalty), .min = -100, .max = 100, .argument = "X",
 .help = "taken off a logit if it was there, 0 off"},
{.group = "Penalties", .name = "penalty_window", .also = "repeat_last_n", .type = SETTING_INT, .per_line = true, .offset = S(penalty_window), .min = -1, .max = MANY, .argument = "N",
 .help = "newest tokens these three look at, 0 none, -1 all"},
{.group = "Penalties", .name = "dry_multiplier", .type = SETTING_FLOAT, .per_line = true, .offset = S(dry_multiplier), .max = 1e6, .argument = "X",
 .help = "DRY: penalty on going on with a repeated sequence, 0 off"},
{.group = "Penalties", .name = "dry_base", .type = SETTING_FLOAT, .per_line = true, .offset = S(dry_base), .min = 1, .max = 1e6, .argument = "X",
 .help = "it grows by this with each token repeated"},
{.group = "Penalties", .name = "dry_allowed_length", .type = SETTING_INT, .per_line = true, .offset = S(dry_allowed_length), .min = 1, .max = MANY, .argument = "N",
 .help = "repeats up to this length are free"},
{.group = "Penalties", .name = "dry_window", .also = "dry_penalty_last_n", .type = SETTING_INT, .per_line = true, .offset = S(dry_window), .min = -1, .max = MANY, .argument = "N",
 .help = "newest tokens it looks at, 0 none, -1 all"},
{.group = "Penalties", .name = "dry_breakers", .also = "dry_sequence_breaker", .type = SETTING_STRING, .per_line = true, .offset = S(dry_breakers), .argument = "TEXT,...",
 .help = "texts that a repeat does not reach across, separated by commas, C escapes"},
{.group = "Penalties", .name = "no_repeat_ngram_size", .type = SETTING_INT, .per_line = true, .offset = S(no_repeat_ngram_size), .max = MANY, .argument = "N",
 .help = "no run of N tokens comes twice, 0 off"},
{.group = "Penalties", .name = "logit_bias", .pairs = true, .type = SETTING_STRING, .per_line = true, .offset = S(logit_bias), .argument = "ID:X,...",
 .help = "added to single logits; -inf bans a token"},
{.group = "Penalties", .name = "bad_words", .type = SETTING_STRING, .per_line = true, .offset = S(bad_words), .argument = "TEXT,...",
 .help = "never written; separated by commas, C escapes"},

{.group = "Searches", .name = "num_return_sequences", .type = SETTING_INT, .per_line = true, .offset = G(num_return_sequences), .min = 1, .max = 512, .argument = "N",
 .help = "answers to each prompt"},
{.group = "Searches", .name = "num_beams", .also = "beams", .type = SETTING_INT, .per_line = true, .offset = G(num_beams), .min = 1, .max = 256, .argument = "N",
 .help = "beam search with N beams, 1 off"},
{.group = "Searches", .name = "length_penalty", .type = SETTING_FLOAT, .per_line = true, .offset = G(length_penalty), .min = -100, .max = 100, .argument = "X",
 .help = "beams are scored by log-probability / length ^ X"},
{.group = "Searches", .name = "early_stopping", .type = SETTING_CHOICE, .per_line = true, .offset = G(early_stopping),
 .choices = CHOICES("false|off|no|0", "true|on|yes|1", "never"), .help = "when a beam search is over, as transformers has it"},
{.group = "Searches", .name = "penalty_alpha", .type = SETTING_FLOAT, .per_line = true, .offset = G(penalty_alpha), .max = 1, .argument = "X",
 .help = "contrastive search over the top_k, 0 off"},

{.group = "Prompt", .name = "verbose", .letter = 'v', .type = SETTING_BOOL, .offset = T(verbose),
 .help = "more about each answer: ms per token, ms per sentence, samples/s"},
{.group = "Prompt", .name = "save_samples", .type = SETTING_PATH, .offset = T(save_samples), .argument = "FILE",
 .help = "append each prompt and its answer to FILE, an object a line"},
{.group = "Prompt", .name = "color", .holds_from = HOLDS_FROM_SCREEN, .type = SETTING_CHOICE, .offset = T(color), .choices = CHOICES("auto", "on|yes|true|1", "off|no|false|0"),
 .help = "auto: on a terminal, unless NO_COLOR is set"},
{.group = "Prompt", .name = "wrap", .holds_from = HOLDS_FROM_SCREEN, .also = "wordwrap", .type = SETTING_BOOL, .offset = T(wrap),
 .help = "a word that does not fit into a terminal's line begins the next one"},
{.group = "Prompt", .name = "editing_mode", .type = SETTING_CHOICE, .offset = T(editing_mode), .choices = CHOICES("inputrc", "emacs", "vi"),
 .help = "keys of the prompt; inputrc: as ~/.inputrc says"},
{.group = "Prompt", .name = "history", .type = SETTING_INT, .offset = T(history), .max = 1e6, .argument = "N",
 .help = "lines remembered, 0 none"},

{.group = "Batches", .name = "batch_size", .letter = 'b', .type = SETTING_INT, .offset = B(batch_size), .min = 1, .max = FORWARD_MAX_ROWS, .argument = "N",
 .help = "prompts, or windows of an evaluation, worked on at once; what comes out does not depend on it"},
{.group = "Batches", .name = "raw", .type = SETTING_BOOL, .offset = B(raw),
 .help = "answers as they are, a NUL after each"},
{.group = "Batches", .name = "jsonl", .type = SETTING_BOOL, .offset = B(jsonl),
 .help = "an object a line, in and out: prompt, settings; text, ids, logprobs, finish_reason"},

{.group = "Evaluation", .name = "seq_length", .type = SETTING_INT, .offset = E(seq_length), .max = 1e7, .argument = "N",
 .help = "tokens a window of an evaluation reads, 0: the context"},
{.group = "Evaluation", .name = "overlap", .also = "stride", .type = SETTING_INT, .offset = E(overlap), .max = 1e7, .argument = "N",
 .help = "wikitext, ptb, kl: tokens from one window to the next, 0: half the window"},
{.group = "Evaluation", .name = "last_n", .type = SETTING_INT, .offset = E(last_n), .max = 1e7, .argument = "N",
 .help = "text: targets that count of a window, which moves by as many, 0: half the window"},
{.group = "Evaluation", .name = "detokenize", .type = SETTING_BOOL, .offset = E(detokenize),
 .help = "wikitext, ptb: undo the splitting of words and signs first; choice: HellaSwag's text as lm-eval has it"},
{.group = "Evaluation", .name = "data_dir", .type = SETTING_PATH, .offset = E(data_dir), .argument = "DIR",
 .help = "where evaluations look for their files; empty: $XDG_DATA_HOME/prattle"},
{.group = "Evaluation", .name = "keep_results", .type = SETTING_BOOL, .offset = T(keep_results),
 .help = "results are kept for eval history, in $XDG_STATE_HOME/prattle/evaluations.jsonl"},

{.group = "For one command", .call_only = true, .name = "prompt", .letter = 'p', .type = SETTING_STRING, .offset = C(prompt), .argument = "TEXT",
 .help = "answer this and leave"},
{.group = "For one command", .call_only = true, .name = "ids", .type = SETTING_STRING, .offset = C(ids), .argument = "1,2,3",
 .help = "logits, generate: the prompt as token ids"},
{.group = "For one command", .call_only = true, .name = "all", .type = SETTING_BOOL, .offset = C(all),
 .help = "logits: of every position, not the last alone; eval history: every model"},
{.group = "For one command", .call_only = true, .name = "out", .letter = 'o', .type = SETTING_PATH, .offset = C(out), .argument = "FILE.npy",
 .help = "logits: write them as float32"},
{.group = "For one command", .call_only = true, .name = "output", .type = SETTING_CHOICE, .offset = C(output), .choices = CHOICES("text", "ids"),
 .help = "generate: what to print"},
{.group = "For one command", .call_only = true, .name = "vocab_size", .type = SETTING_INT, .offset = C(bpe.vocab_size), .min = BPE_MIN_VOCAB, .max = BPE_MAX_VOCAB, .argument = "N",
 .help = "tokenizer train: tokens to make, the 256 bytes and <|endoftext|> among them; 50257 if not given"},
{.group = "For one command", .call_only = true, .name = "min_frequency", .type = SETTING_INT64, .offset = C(bpe.min_frequency), .max = 9007199254740992.0, .argument = "N",
 .help = "tokenizer train: pairs that come less often are not merged"},
{.group = "For one command", .call_only = true, .name = "plan", .type = SETTING_BOOL, .offset = C(plan),
 .help = "train: check all settings, show memory, steps and time, and stop"},
{.group = "For one command", .call_only = true, .name = "limit", .type = SETTING_INT64, .offset = E(limit), .max = 9007199254740992.0, .argument = "N",
 .help = "eval: so many windows, passages or questions at most"},
{.group = "For one command", .call_only = true, .name = "strict", .type = SETTING_BOOL, .offset = E(strict),
 .help = "eval lambada: the whole last word, not its last token alone"},
{.group = "For one command", .call_only = true, .name = "like", .type = SETTING_CHOICE, .offset = E(like), .choices = CHOICES("prattle", "megatron"),
 .help = "eval wikitext, ptb: sizes that were not given as in Megatron-LM: 128 every 32"},
{.group = "For one command", .call_only = true, .name = "json", .type = SETTING_BOOL, .offset = C(json),
 .help = "eval: the result as a JSON object; eval history: one a line"},
{.group = "For one command", .call_only = true, .name = "other_dtype", .type = SETTING_CHOICE, .offset = C(other_dtype),
 .choices = CHOICES("auto", "fp16|f16|float16|half", "fp32|f32|float32|float"), .help = "eval kl: precision of the model compared with; auto: as dtype"},
{.group = "For one command", .call_only = true, .name = "force", .letter = 'f', .type = SETTING_BOOL, .offset = C(force),
 .help = "overwrite what is there"},
{.group = "For one command", .call_only = true, .name = "compat", .type = SETTING_BOOL, .offset = C(compat),
 .help = "save, convert: GGUF that llama.cpp from before March 2025 reads too"},
{.group = "For one command", .call_only = true, .name = "format", .type = SETTING_CHOICE, .offset = C(format),
 .choices = CHOICES("text", "markdown|md", "csv", "json"), .help = "bench, help, eval history: how tables are written"},
{.group = "For one command", .call_only = true, .name = "help", .letter = 'h', .type = SETTING_BOOL, .offset = C(help),
 .help = "show this, or with a command what it does"},
{.group = "For one command", .call_only = true, .name = "version", .letter = 'V', .type = SETTING_BOOL, .offset = C(version),
 .help = "show the version"},
};
/* clang-format on */

void settings_init(struct settings *s)
{
    *s = (struct settings){
        .device = {.model = BUNDLED_NAME, .pin = true, .kernels = "auto"},
        .talk = {.wrap = true, .history = 10000, .keep_results = true},
        .batch = {.batch_size = 8},
    };
    generate_config_init(&s->generate);
    sampler_config_init(&s->sampler);
    if (s->sampler.chain == NULL)
        s->sampler.chain = SAMPLER_CHAIN;
    eval_config_init(&s->eval);
    bpe_train_config_init(&s->call.bpe);
}

/* A text that answers go by, a chain or stop strings say, as far as it can be told without
 * a model. */
static int check_text(const struct setting *o, const char *text)
{
    struct settings probe = {0};
    if (o->type != SETTING_STRING || !option_per_line(o))
        return 0;
    generate_config_init(&probe.generate);
    sampler_config_init(&probe.sampler);
    *(const char **)((char *)&probe + o->offset) = text;
    int rc = generate_config_check(&probe.generate, &probe.sampler);
    return rc == 0 ? sampler_config_check(&probe.sampler) : rc;
}

const struct settings_table options_table = {
    .rows = table,
    .n = sizeof table / sizeof table[0],
    .bytes = sizeof(struct settings),
    .check = check_text,
};

const struct setting *option_at(int i)
{
    return settings_table_at(&options_table, i);
}

const struct setting *option_find(const char *name)
{
    return settings_table_find(&options_table, name);
}

int option_lookup(const struct setting **out, const char *name)
{
    return settings_table_lookup(&options_table, out, name, false);
}

int option_settable(const struct setting **out, const char *name)
{
    return settings_table_lookup(&options_table, out, name, true);
}

bool option_per_line(const struct setting *o)
{
    return o->per_line;
}

int option_parse(const struct setting *o, struct settings *s, const char *text)
{
    return settings_table_parse(&options_table, o, s, text);
}

void settings_release(struct settings *s)
{
    settings_table_release(&options_table, s);
}

int settings_copy(struct settings *dst, const struct settings *src)
{
    return settings_table_copy(&options_table, dst, src);
}

const struct setting *option_of(size_t offset)
{
    const struct setting *row = table;
    while (row->type == SETTING_SHORTHAND || row->offset != offset)
        row++;
    return row;
}
