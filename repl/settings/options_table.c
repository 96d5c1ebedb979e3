#include "repl/settings/options_table.h"

#include "model/base/err.h"
#include "model/kernels/kernels.h"
#include "model/kv_view.h"
#include "sampling/grammar/source.h"
#include "train/data/pairs.h"
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
 .help = "model folder or file, gpt2 or random:gpt2",
 .more = "A Hugging Face folder, a .safetensors, .bin or .gguf file, a PEFT adapter, bundled (the model that ships), gpt2 or openai-community/gpt2@REVISION (of the Hugging Face Hub, from its cache or downloaded), random:gpt2 or random:config.json (random weights of that shape)"},
{.group = "Model and machine", .name = "offline", .type = SETTING_BOOL, .offset = D(offline),
 .help = "use models of the cache only, download nothing",
 .more = "HF_HUB_OFFLINE=1 does the same"},
{.group = "Model and machine", .name = "lora", .once = true, .holds_from = HOLDS_FROM_START, .type = SETTING_PATH, .offset = D(lora), .argument = "DIR",
 .help = "LoRA adapter to load with the model",
 .more = "A PEFT folder: adapter_config.json and adapter_model.safetensors"},
{.group = "Model and machine", .name = "dtype", .holds_from = HOLDS_FROM_LOAD, .type = SETTING_CHOICE, .offset = D(dtype),
 .choices = CHOICES("auto", "fp16|f16|float16|half", "fp32|f32|float32|float", "q8|q8_0", "bf16|bfloat16"),
 .help = "precision of the weights",
 .more = "auto: fp16 in memory, or q8 for a GGUF file in Q8_0; files written by save and convert keep the precision of the source. q8: Q8_0, 8 bits and a scale for each 32 weights, in memory and in GGUF files"},
{.group = "Model and machine", .name = "cache_dtype", .type = SETTING_CHOICE, .offset = D(cache_dtype),
 .choices = CHOICES("auto", "fp16|f16|float16|half", "fp32|f32|float32|float", "q8|q8_0"),
 .help = "precision of keys and values",
 .more = "auto: fp16, or fp32 with weights in fp32. q8: 8 bits and a scale for each 32 numbers, about half the memory of fp16; `:eval kl MODEL --other-cache-dtype fp16` shows the cost"},
{.group = "Model and machine", .name = "cache_size", .holds_from = HOLDS_FROM_LOAD, .type = SETTING_FLOAT, .offset = D(cache_size), .max = 1e6, .argument = "GB",
 .help = "GB of disk for prepared weights; 0: no cache",
 .more = "Hugging Face models load faster the second time. In $XDG_CACHE_HOME/prattle/panels; `:cache` shows it"},
{.group = "Model and machine", .name = "memory", .holds_from = HOLDS_FROM_LOAD, .type = SETTING_FLOAT, .offset = D(memory), .max = 1e6, .argument = "GB",
 .help = "GB of memory for the program; 0: what is available",
 .more = "Layers of a model that do not fit are read from disk for each token, with the same results. More texts at once (batch_size, num_beams) take more than this"},
{.group = "Model and machine", .name = "phased", .holds_from = HOLDS_FROM_LOAD, .type = SETTING_CHOICE, .offset = D(phased), .choices = CHOICES("auto", "on|yes|true|1", "off|no|false|0"),
 .help = "read a model's layers from disk at each pass",
 .more = "auto: those that do not fit in memory. on: all layers. off: none"},
{.group = "Model and machine", .name = "threads", .holds_from = HOLDS_FROM_TEAM, .letter = 't', .also = "n_threads|num_threads", .type = SETTING_INT, .offset = D(threads), .max = 1024, .argument = "N",
 .help = "CPU threads; 0: one per available processor"},
{.group = "Model and machine", .name = "pin", .holds_from = HOLDS_FROM_TEAM, .type = SETTING_BOOL, .offset = D(pin),
 .help = "pin each thread to its own processor",
 .more = "Only where there is a processor for each thread"},
{.group = "Model and machine", .name = "kernels", .words = kernels_word, .holds_from = HOLDS_FROM_TEAM, .type = SETTING_STRING, .offset = D(kernels), .argument = "NAME",
 .help = "instruction set: auto, portable, avx2, avx512, amx",
 .more = "All give the same results, bit for bit; in training with matrices=own, as auto takes OpenBLAS where kernels are portable. The environment variable PRATTLE_KERNELS sets what auto means"},
{.group = "Model and machine", .name = "device_loop", .type = SETTING_BOOL, .per_line = true, .offset = G(device_loop),
 .help = "generate an answer in one call to the thread team",
 .more = "off: one call per pass. The text is the same"},
{.group = "Model and machine", .name = "device_iterations", .type = SETTING_INT, .per_line = true, .offset = G(device_iterations), .min = 1, .max = 1e6, .argument = "N",
 .help = "tokens generated between outputs; 1: stream each"},
{.group = "Model and machine", .name = "speculate", .words = speculate_name, .type = SETTING_PATH, .per_line = true, .offset = G(speculate), .argument = "auto|off|lookup|MODEL",
 .help = "verify several tokens a pass, drafted from the text",
 .more = "Drafts repeat what followed the last tokens where the text had them before. auto: where that has been right often enough to save time; lookup: always. MODEL: drafts of this smaller model with the same tokenizer, where it has been right often enough. The text is the same"},

{.group = "Text", .name = "max_new_tokens", .letter = 'n', .also = "n_predict|predict|num_predict|max_tokens|max_completion_tokens|output_len", .minus_one = "a large one ends with the context", .type = SETTING_INT, .per_line = true, .offset = G(max_new_tokens), .max = 1e6, .argument = "N",
 .help = "maximum length of an answer in tokens"},
{.group = "Text", .name = "min_new_tokens", .type = SETTING_INT, .per_line = true, .offset = S(min_new_tokens), .max = MANY, .argument = "N",
 .help = "minimum length of an answer in tokens",
 .more = "No stop token is sampled before; a stop text ends it"},
{.group = "Text", .name = "stop", .texts = true, .also = "reverse_prompt|stop_strings|stop_sequences", .type = SETTING_STRING, .per_line = true, .offset = G(stop), .argument = "TEXT,...",
 .help = "stop strings, comma-separated; never shown",
 .more = "C escapes such as \\n are understood. In JSON lines one text, or a list of texts, as they are"},
{.group = "Text", .name = "stop_token", .type = SETTING_STRING, .per_line = true, .offset = G(stop_token), .argument = "ID|TEXT,...",
 .help = "tokens that end an answer; empty: end of text",
 .more = "IDs or texts, comma-separated. Empty: the model's own end-of-text token"},
{.group = "Text", .name = "ignore_eos", .type = SETTING_BOOL, .per_line = true, .offset = S(ignore_eos),
 .help = "never sample a stop token"},
{.group = "Text", .name = "grammar", .also = "grammar_file|json_schema|json_schema_file|guided_json|guided_grammar|response_format", .words = grammar_word, .type = SETTING_STRING, .json = true, .paths = true, .per_line = true, .offset = S(grammar), .argument = "json|FILE|TEXT",
 .help = "what an answer must match: json, a schema or GBNF",
 .more = "json: any JSON object. {\"type\": ...}: a JSON schema, by itself or in OpenAI's response_format, or a function, whose arguments the answer is. root ::= \"yes\" | \"no\": GBNF, llama.cpp's notation. Or a file of a schema or GBNF. An answer that max_new_tokens cuts off begins like one that matches; :continue goes on with it"},
{.group = "Text", .name = "on_full", .type = SETTING_CHOICE, .per_line = true, .offset = G(on_full), .choices = CHOICES("stop", "slide"),
 .help = "full context: slide keeps the newer half"},
{.group = "Text", .name = "template", .also = "prompt_template", .type = SETTING_STRING, .escapes = true, .per_line = true, .offset = G(template), .argument = "TEXT",
 .help = "text to read for a prompt, with {prompt} in it",
 .more = "As \"Q: {prompt}\\nA:\", for models that learned questions and answers in that form; empty: the prompt alone. C escapes such as \\n are understood; in JSON lines the text is read as it is. prattle.yaml beside the model keeps it. Token IDs and the texts of tokens and eval are read as they are, and so are the prompts of a run's samples"},
{.group = "Text", .name = "begin", .type = SETTING_BOOL, .per_line = true, .offset = G(begin),
 .help = "start new texts with the begin-of-text token",
 .more = "The token is not shown. For models trained with it"},
{.group = "Text", .name = "trim", .type = SETTING_BOOL, .per_line = true, .offset = G(trim),
 .help = "a trailing space joins the next word",
 .more = "GPT-2's tokens begin with the space: without this a prompt that ends in a space is continued poorly"},
{.group = "Text", .name = "special", .type = SETTING_BOOL, .per_line = true, .offset = G(special),
 .help = "read <|endoftext|> in a prompt as the token",
 .more = "off: as text. All special tokens of the vocabulary. Also in texts that eval, data info and tokens read; runs and data prepare have a setting of their own"},
{.group = "Text", .name = "keep", .type = SETTING_BOOL, .in_session = true, .offset = T(keep),
 .help = "prompts continue the last text",
 .more = "A space goes between where neither has one. off: each prompt starts a new text"},
{.group = "Text", .name = "echo", .also = "display_prompt", .type = SETTING_CHOICE, .per_line = true, .offset = T(echo), .choices = CHOICES("auto", "on|yes|true|1", "off|no|false|0"),
 .help = "repeat the prompt before the answer",
 .more = "auto: in batches; on a terminal the last line of the prompt. With jsonl, on adds the prompt's ids, tokens and log-probabilities"},

{.group = "Sampling", .name = "temperature", .also = "temp", .type = SETTING_FLOAT, .per_line = true, .offset = S(temperature), .max = 1e6, .argument = "X",
 .help = "randomness of sampling; 0: greedy",
 .more = "Logits are divided by it: above 1 flatter, below 1 sharper"},
{.group = "Sampling", .name = "greedy", .type = SETTING_SHORTHAND, .shorthand_for = "temperature", .shorthand_value = "0",
 .help = "always take the most likely token",
 .more = "The same as temperature 0"},
{.group = "Sampling", .name = "top_k", .letter = 'k', .type = SETTING_INT, .per_line = true, .offset = S(top_k), .max = 1e7, .argument = "N",
 .help = "keep the N most likely tokens; 0: off"},
{.group = "Sampling", .name = "top_p", .type = SETTING_FLOAT, .per_line = true, .offset = S(top_p), .max = 1, .argument = "X",
 .help = "nucleus: likeliest tokens that sum to X; 1: off"},
{.group = "Sampling", .name = "min_p", .type = SETTING_FLOAT, .per_line = true, .offset = S(min_p), .max = 1, .argument = "X",
 .help = "drop tokens below X times the top probability; 0: off"},
{.group = "Sampling", .name = "typical_p", .also = "typical", .type = SETTING_FLOAT, .per_line = true, .offset = S(typical_p), .min = 0.001, .max = 1, .argument = "X",
 .help = "locally typical sampling with mass X; 1: off"},
{.group = "Sampling", .name = "top_n_sigma", .also = "top_nsigma", .type = SETTING_FLOAT, .per_line = true, .offset = S(top_n_sigma), .max = 1e6, .argument = "X",
 .help = "keep logits within X std. dev. of the top; 0: off"},
{.group = "Sampling", .name = "xtc_probability", .type = SETTING_FLOAT, .per_line = true, .offset = S(xtc_probability), .max = 1, .argument = "X",
 .help = "XTC: how often top tokens are removed; 0: off"},
{.group = "Sampling", .name = "xtc_threshold", .type = SETTING_FLOAT, .per_line = true, .offset = S(xtc_threshold), .max = 0.5, .argument = "X",
 .help = "XTC: minimum probability of a top token",
 .more = "XTC removes all top tokens but the least likely"},
{.group = "Sampling", .name = "dynatemp_range", .type = SETTING_FLOAT, .per_line = true, .offset = S(dynatemp_range), .max = 1e6, .argument = "X",
 .help = "dynamic temperature: +/- X by entropy; 0: off"},
{.group = "Sampling", .name = "dynatemp_exponent", .also = "dynatemp_exp", .type = SETTING_FLOAT, .per_line = true, .offset = S(dynatemp_exponent), .max = 1e6, .argument = "X",
 .help = "dynamic temperature: exponent of the entropy"},
{.group = "Sampling", .name = "mirostat", .type = SETTING_INT, .per_line = true, .offset = S(mirostat), .max = 2, .argument = "N",
 .help = "Mirostat version 1 or 2; 0: off",
 .more = "Keeps the surprise of the text constant, in place of top_k, top_p, min_p, typical_p, top_n_sigma, xtc_probability and topk_uniform"},
{.group = "Sampling", .name = "mirostat_tau", .also = "mirostat_ent", .type = SETTING_FLOAT, .per_line = true, .offset = S(mirostat_tau), .min = 0.001, .max = 1e6, .argument = "X",
 .help = "Mirostat: target surprise in bits per token"},
{.group = "Sampling", .name = "mirostat_eta", .also = "mirostat_lr", .type = SETTING_FLOAT, .per_line = true, .offset = S(mirostat_eta), .max = 1, .argument = "X",
 .help = "Mirostat: learning rate"},
{.group = "Sampling", .name = "topk_uniform", .type = SETTING_BOOL, .per_line = true, .offset = S(topk_uniform),
 .help = "sample uniformly from the top_k tokens"},
{.group = "Sampling", .name = "chain", .type = SETTING_STRING, .per_line = true, .offset = S(chain), .argument = "STAGE,...",
 .help = "sampler stages in order; a stage left out is off"},
{.group = "Sampling", .name = "seed", .minus_one = "0 is a new one each time", .draws = true, .letter = 's', .type = SETTING_UINT64, .per_line = true, .offset = S(seed), .max = 18446744073709551615.0, .argument = "N",
 .help = "random seed; 0: a new one for each prompt",
 .more = "The same seed gives the same text. A new seed is shown with the answer; a JSON line has it, and --verbose tells a batch's"},
{.group = "Sampling", .name = "draw", .draws = true, .type = SETTING_INT64, .per_line = true, .offset = S(draw), .max = 9007199254740992.0, .argument = "N",
 .help = "index of the random draw with this seed",
 .more = "Line i of a batch is draw i, counted from 0; a line with several answers counts as several. A JSON line has each answer's draw"},

{.group = "Penalties", .name = "repetition_penalty", .also = "repeat_penalty", .type = SETTING_FLOAT, .per_line = true, .offset = S(repetition_penalty), .min = 0.01, .max = 1e6, .argument = "X",
 .help = "penalty on tokens seen before (CTRL); 1: off",
 .more = "Positive logits are divided by X, negative ones multiplied"},
{.group = "Penalties", .name = "frequency_penalty", .type = SETTING_FLOAT, .per_line = true, .offset = S(frequency_penalty), .min = -100, .max = 100, .argument = "X",
 .help = "subtracted per earlier use of a token; 0: off"},
{.group = "Penalties", .name = "presence_penalty", .type = SETTING_FLOAT, .per_line = true, .offset = S(presence_penalty), .min = -100, .max = 100, .argument = "X",
 .help = "subtracted once from tokens used before; 0: off"},
{.group = "Penalties", .name = "penalty_window", .also = "repeat_last_n", .type = SETTING_INT, .per_line = true, .offset = S(penalty_window), .min = -1, .max = MANY, .argument = "N",
 .help = "tokens that penalties look back; 0: none, -1: all",
 .more = "For repetition_penalty, frequency_penalty and presence_penalty"},
{.group = "Penalties", .name = "dry_multiplier", .type = SETTING_FLOAT, .per_line = true, .offset = S(dry_multiplier), .max = 1e6, .argument = "X",
 .help = "DRY: penalty on repeated sequences; 0: off"},
{.group = "Penalties", .name = "dry_base", .type = SETTING_FLOAT, .per_line = true, .offset = S(dry_base), .min = 1, .max = 1e6, .argument = "X",
 .help = "DRY: growth of the penalty per repeated token"},
{.group = "Penalties", .name = "dry_allowed_length", .type = SETTING_INT, .per_line = true, .offset = S(dry_allowed_length), .min = 1, .max = MANY, .argument = "N",
 .help = "DRY: length of repeats without a penalty"},
{.group = "Penalties", .name = "dry_window", .also = "dry_penalty_last_n", .type = SETTING_INT, .per_line = true, .offset = S(dry_window), .min = -1, .max = MANY, .argument = "N",
 .help = "DRY: tokens to look back; 0: none, -1: all"},
{.group = "Penalties", .name = "dry_breakers", .texts = true, .also = "dry_sequence_breaker|dry_sequence_breakers", .type = SETTING_STRING, .per_line = true, .offset = S(dry_breakers), .argument = "TEXT,...",
 .help = "DRY: texts that end a repeat, comma-separated",
 .more = "Empty: none. C escapes such as \\n are understood"},
{.group = "Penalties", .name = "no_repeat_ngram_size", .type = SETTING_INT, .per_line = true, .offset = S(no_repeat_ngram_size), .max = MANY, .argument = "N",
 .help = "never repeat a sequence of N tokens; 0: off"},
{.group = "Penalties", .name = "logit_bias", .pairs = true, .type = SETTING_STRING, .per_line = true, .offset = S(logit_bias), .argument = "ID:X,...",
 .help = "add X to the logit of each ID; -inf bans it",
 .more = "In JSON lines an object: {\"257\": -2, \"13\": 1}, or a list of pairs"},
{.group = "Penalties", .name = "bad_words", .texts = true, .type = SETTING_STRING, .per_line = true, .offset = S(bad_words), .argument = "TEXT,...",
 .help = "texts whose tokens are banned, comma-separated",
 .more = "Those that the tokenizer makes of each, with a space before it and without; in other tokens its letters may still come. C escapes such as \\n are understood"},

{.group = "Search", .name = "num_return_sequences", .type = SETTING_INT, .per_line = true, .offset = G(num_return_sequences), .min = 1, .max = 512, .argument = "N",
 .help = "answers per prompt",
 .more = "n in JSON lines. Greedy and contrastive answers are all the same"},
{.group = "Search", .name = "num_beams", .also = "beams", .type = SETTING_INT, .per_line = true, .offset = G(num_beams), .min = 1, .max = 256, .argument = "N",
 .help = "beam search with N beams; 1: off",
 .more = "Nothing is drawn: temperature, seed, top_k, top_p and the other filters are not used; penalties, logit_bias, bad_words and grammar are"},
{.group = "Search", .name = "length_penalty", .type = SETTING_FLOAT, .per_line = true, .offset = G(length_penalty), .min = -100, .max = 100, .argument = "X",
 .help = "beam score: log-probability / length ^ X"},
{.group = "Search", .name = "early_stopping", .type = SETTING_CHOICE, .per_line = true, .offset = G(early_stopping),
 .choices = CHOICES("false|off|no|0", "true|on|yes|1", "never"), .help = "when beam search ends, as in transformers"},
{.group = "Search", .name = "penalty_alpha", .type = SETTING_FLOAT, .per_line = true, .offset = G(penalty_alpha), .max = 1, .argument = "X",
 .help = "contrastive search over the top_k; 0: off",
 .more = "Nothing is drawn: temperature, seed, top_p and the other filters are not used; top_k, penalties, logit_bias, bad_words and grammar are"},

{.group = "Terminal", .name = "verbose", .letter = 'v', .type = SETTING_BOOL, .offset = T(verbose),
 .help = "report ms per token and samples/s"},
{.group = "Terminal", .name = "save_samples", .type = SETTING_PATH, .offset = T(save_samples), .argument = "FILE",
 .help = "append prompts and answers to FILE as JSON lines"},
{.group = "Terminal", .name = "color", .holds_from = HOLDS_FROM_SCREEN, .type = SETTING_CHOICE, .offset = T(color), .choices = CHOICES("auto", "on|yes|true|1", "off|no|false|0"),
 .help = "colors in the terminal",
 .more = "auto: on a terminal unless NO_COLOR is set"},
{.group = "Terminal", .name = "wrap", .holds_from = HOLDS_FROM_SCREEN, .also = "wordwrap", .type = SETTING_BOOL, .offset = T(wrap),
 .help = "wrap lines between words at the terminal's edge"},
{.group = "Terminal", .name = "editing_mode", .type = SETTING_CHOICE, .offset = T(editing_mode), .choices = CHOICES("inputrc", "emacs", "vi"),
 .help = "key bindings of the prompt; inputrc: as ~/.inputrc"},
{.group = "Terminal", .name = "history", .type = SETTING_INT, .offset = T(history), .max = 1e6, .argument = "N",
 .help = "prompt lines to remember; 0: none"},

{.group = "Batches", .name = "batch_size", .letter = 'b', .type = SETTING_INT, .offset = B(batch_size), .min = 1, .max = FORWARD_MAX_ROWS, .argument = "N",
 .help = "prompts or evaluation windows per batch",
 .more = "Results do not depend on it"},
{.group = "Batches", .name = "raw", .type = SETTING_BOOL, .offset = B(raw),
 .help = "write answers unescaped, a NUL after each"},
{.group = "Batches", .name = "jsonl", .type = SETTING_BOOL, .offset = B(jsonl),
 .help = "read and write JSON lines",
 .more = "In: prompt, id, settings. Out: id, text, ids, logprobs, finish_reason; several answers in answers"},
{.group = "Batches", .name = "top_logprobs", .also = "logprobs|n_probs", .type = SETTING_INT, .per_line = true, .offset = B(top_logprobs), .max = 100, .argument = "N",
 .help = "jsonl: alternatives to show for each token; 0: none",
 .more = "With log-probabilities of the model itself, before the sampling settings"},

{.group = "Evaluation", .name = "seq_length", .type = SETTING_INT, .offset = E(seq_length), .max = 1e7, .argument = "N",
 .help = "tokens per evaluation window; 0: the context"},
{.group = "Evaluation", .name = "overlap", .also = "stride", .type = SETTING_INT, .offset = E(overlap), .max = 1e7, .argument = "N",
 .help = "stride between windows in tokens; 0: half a window",
 .more = "For wikitext, ptb and kl"},
{.group = "Evaluation", .name = "last_n", .type = SETTING_INT, .offset = E(last_n), .max = 1e7, .argument = "N",
 .help = "eval text: scored tokens per window; 0: half",
 .more = "The stride between windows is the same number"},
{.group = "Evaluation", .name = "detokenize", .type = SETTING_BOOL, .offset = E(detokenize),
 .help = "wikitext, ptb: undo the splitting of words first",
 .more = "choice: prepare HellaSwag's text as lm-eval does"},
{.group = "Evaluation", .name = "data_field", .type = SETTING_STRING, .offset = E(lines.field), .argument = "NAME",
 .help = "field of JSON lines or column of Parquet: the text",
 .more = "For eval text and kl, data info and check, as a run's data.field"},
{.group = "Evaluation", .name = "data_prompt_template", .type = SETTING_STRING, .offset = E(lines.prompt_template), .argument = "TEXT",
 .help = "what is read of a pair; fields in braces",
 .more = "As \"Q: {question}\\nA:\". For eval text and kl, data info and check, as a run's data.prompt_template"},
{.group = "Evaluation", .name = "data_completion_template", .type = SETTING_STRING, .offset = E(lines.completion_template), .argument = "TEXT",
 .help = "what is measured of a pair; fields in braces",
 .more = "As \" {answer}\". For eval text and kl, data info and check, as a run's data.completion_template"},
{.group = "Evaluation", .name = "data_dir", .type = SETTING_PATH, .offset = E(data_dir), .argument = "DIR",
 .help = "folder of evaluation files",
 .more = "Empty: $XDG_DATA_HOME/prattle"},
{.group = "Evaluation", .name = "keep_results", .type = SETTING_BOOL, .offset = T(keep_results),
 .help = "store results of eval, and of bench with a SPEC.yaml",
 .more = "`eval history` and `bench history` show them. In $XDG_STATE_HOME/prattle: evaluations.jsonl, benchmarks.jsonl"},

{.group = "Command options", .call_only = true, .name = "prompt", .once = true, .letter = 'p', .type = SETTING_STRING, .offset = C(prompt), .argument = "TEXT",
 .help = "answer this prompt and exit"},
{.group = "Command options", .call_only = true, .name = "ids", .once = true, .type = SETTING_STRING, .offset = C(ids), .argument = "1,2,3",
 .help = "tokens: IDs to decode; logits, generate: prompt as IDs"},
{.group = "Command options", .call_only = true, .name = "all", .type = SETTING_BOOL, .offset = C(all),
 .help = "logits: every position; eval history: every model",
 .more = "Of logits with --out, which has them all"},
{.group = "Command options", .call_only = true, .name = "last", .type = SETTING_INT, .offset = C(last), .max = MANY, .argument = "N",
 .help = "eval history, bench history: the newest N; 0: all"},
{.group = "Command options", .call_only = true, .name = "out", .letter = 'o', .type = SETTING_PATH, .offset = C(out), .argument = "FILE.npy",
 .help = "logits: write the logits to this file as float32"},
{.group = "Command options", .call_only = true, .name = "top", .type = SETTING_INT, .offset = C(top), .max = 1000, .argument = "N",
 .help = "next, logits: number of tokens; 0: 20"},
{.group = "Command options", .call_only = true, .name = "output", .type = SETTING_CHOICE, .offset = C(output), .choices = CHOICES("text", "ids"),
 .help = "generate: print text or token IDs"},
{.group = "Command options", .call_only = true, .name = "vocab_size", .type = SETTING_INT, .offset = C(bpe.vocab_size), .min = BPE_MIN_VOCAB, .max = BPE_MAX_VOCAB, .argument = "N",
 .help = "tokenizer train: size of the vocabulary",
 .more = "The 256 bytes and <|endoftext|> included; 50257 if not given"},
{.group = "Command options", .call_only = true, .name = "min_frequency", .type = SETTING_INT64, .offset = C(bpe.min_frequency), .max = 9007199254740992.0, .argument = "N",
 .help = "tokenizer train: minimum frequency of a merged pair"},
{.group = "Command options", .call_only = true, .name = "plan", .type = SETTING_BOOL, .offset = C(plan),
 .help = "train: check settings, show memory and time, stop"},
{.group = "Command options", .call_only = true, .name = "limit", .type = SETTING_INT64, .offset = E(limit), .max = 9007199254740992.0, .argument = "N",
 .help = "eval, convert: maximum windows or items; 0: all"},
{.group = "Command options", .call_only = true, .name = "strict", .type = SETTING_BOOL, .offset = E(strict),
 .help = "eval lambada: score the whole last word",
 .more = "Without it the last token alone"},
{.group = "Command options", .call_only = true, .name = "like", .type = SETTING_CHOICE, .offset = E(like), .choices = CHOICES("prattle", "megatron"),
 .help = "eval wikitext, ptb: Megatron-LM's window sizes",
 .more = "seq_length 128 and overlap 32 where they are not given"},
{.group = "Command options", .call_only = true, .name = "json", .type = SETTING_BOOL, .offset = C(json),
 .help = "eval: print the result as a JSON object",
 .more = "eval history: one object per line"},
{.group = "Command options", .call_only = true, .name = "other_dtype", .type = SETTING_CHOICE, .offset = C(other_dtype),
 .choices = CHOICES("auto", "fp16|f16|float16|half", "fp32|f32|float32|float", "q8|q8_0"), .help = "eval kl: precision of the other model; auto: dtype"},
{.group = "Command options", .call_only = true, .name = "other_cache_dtype", .type = SETTING_CHOICE, .offset = C(other_cache_dtype),
 .choices = CHOICES("auto", "fp16|f16|float16|half", "fp32|f32|float32|float", "q8|q8_0"), .help = "eval kl: cache of the other model; auto: cache_dtype"},
{.group = "Command options", .call_only = true, .name = "force", .letter = 'f', .type = SETTING_BOOL, .offset = C(force),
 .help = "overwrite existing files; eval history clear: at once"},
{.group = "Command options", .call_only = true, .name = "compat", .type = SETTING_BOOL, .offset = C(compat),
 .help = "save, convert: GGUF for llama.cpp before March 2025"},
{.group = "Command options", .call_only = true, .name = "format", .type = SETTING_CHOICE, .offset = C(format),
 .choices = CHOICES("text", "markdown|md", "csv", "json", "man", "bash"), .help = "bench, help, hub, eval history: output format",
 .more = "man and bash: help alone"},
{.group = "Command options", .call_only = true, .name = "help", .letter = 'h', .type = SETTING_BOOL, .offset = C(help),
 .help = "show help; with a command, help on that command"},
{.group = "Command options", .call_only = true, .name = "version", .letter = 'V', .type = SETTING_BOOL, .offset = C(version),
 .help = "show the version"},
};
/* clang-format on */

void settings_init(struct settings *s)
{
    *s = (struct settings){
        .device = {.model = BUNDLED_NAME, .cache_size = 10, .pin = true, .kernels = "auto"},
        .talk = {.wrap = true, .history = 10000, .keep_results = true},
        .batch = {.batch_size = 8},
    };
    generate_config_init(&s->generate);
    sampler_config_init(&s->sampler);
    if (s->sampler.chain == NULL)
        s->sampler.chain = SAMPLER_CHAIN;
    if (s->sampler.dry_breakers == NULL)
        s->sampler.dry_breakers = SAMPLER_DRY_BREAKERS;
    eval_config_init(&s->eval);
    bpe_train_config_init(&s->call.bpe);
}

/* A text that answers or data go by, a chain or stop strings say, as far as it can be told without
 * a model. */
static int check_text(const struct setting *o, const char *text)
{
    struct settings probe = {0};
    if (o->offset == E(lines.field) && *text == '\0')
        return err_set(ERR_RANGE, "data_field must be the name of a field");
    if (o->offset == E(lines.prompt_template))
        return pairs_check(text, PAIRS_COMPLETION);
    if (o->offset == E(lines.completion_template))
        return pairs_check(PAIRS_PROMPT, text);
    if (o->type != SETTING_STRING || !o->per_line)
        return 0;
    generate_config_init(&probe.generate);
    sampler_config_init(&probe.sampler);
    *(const char **)((char *)&probe + o->offset) = text;
    int rc = generate_config_check(&probe.generate, &probe.sampler);
    return rc == 0 ? sampler_config_check(&probe.sampler) : rc;
}

bool option_per_line(const struct setting *o)
{
    return o->per_line;
}

bool option_in_session(const struct setting *o)
{
    return o->per_line || o->in_session;
}

const struct settings_table options_table = {
    .rows = table,
    .n = sizeof table / sizeof table[0],
    .bytes = sizeof(struct settings),
    .check = check_text,
};

enum dtype cache_dtype_chosen(enum precision_choice choice, enum dtype weights)
{
    static const enum dtype chosen[] = {
        [PRECISION_FP16] = DTYPE_F16, [PRECISION_FP32] = DTYPE_F32, [PRECISION_Q8] = DTYPE_Q8};
    return choice == PRECISION_AUTO ? kv_dtype_of(weights) : chosen[choice];
}

void settings_release(struct settings *s)
{
    settings_table_release(&options_table, s);
}

int settings_copy(struct settings *dst, const struct settings *src)
{
    return settings_table_copy(&options_table, dst, src);
}
